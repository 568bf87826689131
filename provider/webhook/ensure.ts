import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError, type Hint } from "../errors/index.js";
import { say } from "../resource/progress.js";
import { printUrl } from "../lib/url.js";
import { isSameUrl } from "./fence.js";
import { DEFAULT_ON_EXISTING, VERIFIED, type WebhookInputs } from "./inputs.js";
import { register, rememberBefore } from "./register.js";

/**
 * What stands there before the first set. The specification does not show it, so 404 counts as nothing too. Throws what
 * makes the look fail, unless `onExisting` says that it does not matter.
 */
export async function firstLook(
  { onExisting = DEFAULT_ON_EXISTING }: Pick<WebhookInputs, "onExisting">,
  look: () => Promise<Registration | undefined>,
): Promise<Registration | undefined> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    if (showsNothing(error)) return undefined;
    if (error.code !== "rejected" && error.code !== "protocol") throw error;
    if (onExisting === "replace") return undefined;
    throw error.with({
      summary: `${error.summary}. Nothing was written, because it is not known what is registered`,
      hints: [...error.hints, { id: "allow_replace" }],
    });
  }
}

/** Whether a look that failed may mean that nothing was ever registered. */
export const showsNothing = ({ code, httpStatus }: ApiChatError): boolean =>
  code === "rejected" && httpStatus === 404;

/** Throws `conflict` if another URL stands there, unless `onExisting` is "replace". */
export function refuseForeign(seen: Registration, inputs: WebhookInputs): void {
  const { baseUrl, webhookUrl, onExisting = DEFAULT_ON_EXISTING } = inputs;
  if (onExisting === "replace" || isSameUrl(seen.webhookUrl, webhookUrl)) return;
  throw new ApiChatError(
    "conflict",
    `${printUrl(baseUrl)} has a webhook already, ${printUrl(seen.webhookUrl)}, and nothing was written`,
    {
      operation: "set-webhook",
      facts: { at: printUrl(baseUrl), registered: printUrl(seen.webhookUrl) },
      hints: [removeOther(baseUrl, seen.webhookUrl)],
    },
  );
}

/** How to remove somebody else's webhook. */
export const removeOther = (baseUrl: string, webhookUrl: string): Hint => ({
  id: "remove_other",
  baseUrl: printUrl(baseUrl),
  webhookUrl: printUrl(webhookUrl),
});

/** Says once that `onExisting: "replace"` has done its work: left in, it would replace the next foreign webhook too. */
export const sayReplaced = (name: string, seen: Registration): void =>
  say(name, `replaced ${printUrl(seen.webhookUrl)}; onExisting: "replace" may be removed now`);

/**
 * Sets the webhook, unless what was seen is as wanted: a lost answer of an earlier run, or an import. Throws
 * `UnconfirmedError` where it may have been set all the same.
 */
export async function registerIfNeeded(options: {
  inputs: WebhookInputs;
  client: RegistrationClient;
  seen: Registration | undefined;
  refusedRounds?: number;
}): Promise<{ registration: Registration; wasSet: boolean }> {
  const { seen, ...rest } = options;
  if (isAsWanted(seen, options.inputs)) return { registration: seen, wasSet: false };
  return { registration: await register({ ...rest, before: rememberBefore(seen) }), wasSet: true };
}

/** Nothing is left to set: our URL, our key in clear, verified, and a bot URL. */
function isAsWanted(seen: Registration | undefined, inputs: WebhookInputs): seen is Registration {
  return (
    seen !== undefined &&
    isSameUrl(seen.webhookUrl, inputs.webhookUrl) &&
    seen.webhookVerificationKey === inputs.webhookVerificationKey &&
    seen.status === VERIFIED &&
    seen.botUrl !== ""
  );
}
