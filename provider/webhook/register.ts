import { isDeepStrictEqual } from "node:util";
import { mayBeAccepted, type Registration, type RegistrationClient } from "../client/registration-client.js";
import { ApiChatError, type Hint } from "../errors/index.js";
import { sleep } from "../lib/abort.js";
import { looksMasked } from "../lib/checks.js";
import { printIfSlow } from "../lib/provider-process.js";
import { backOffMs } from "../lib/retry.js";
import { isSameUrl, formatUrl } from "../lib/url.js";
import {
  DEFAULT_PREFLIGHT,
  IMPORTED_KEY,
  KEY_DRIFTED,
  VERIFIED,
  expectedUrl,
  readySecondsOf,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";
import { deadlineOf, preflight, type PreflightOptions } from "./preflight.js";
import { compareFirst, showsWhatWasSet } from "./run.js";

// Registering is three steps within `readySeconds`: preflight, set-webhook, and a get-webhook that confirms it. The last one is
// left out once the service has shown, for one webhook of this run, that get-webhook says what its response to set-webhook said.

/** The previous registration, with what is needed to restore it. */
export interface Before {
  url: string;
  /** Undefined if it is not known, because the service masks keys. */
  key: string | undefined;
}

export interface RegisterOptions extends Pick<PreflightOptions, "refusedRounds" | "signal"> {
  inputs: WebhookInputs;
  client: RegistrationClient;
  before: Before | undefined;
}

/** set-webhook took effect, or may have, but the result could not be confirmed. */
export class UnconfirmedError extends ApiChatError {
  /** The current registration, if it is known to have our URL and a bot URL. */
  readonly seen: Registration | undefined;

  constructor(failure: ApiChatError, seen?: Registration) {
    super(failure.code, failure.summary, { ...failure.toJSON(), cause: failure.cause });
    this.seen = seen;
  }
}

/**
 * Registers the webhook and returns the resulting registration. Throws `UnconfirmedError` if it failed but the webhook
 * may be registered anyway.
 */
export async function register(options: RegisterOptions): Promise<Registration> {
  const { inputs, refusedRounds, signal } = options;
  requireKey(inputs);
  const deadline = deadlineOf(inputs);
  await preflight(inputs, { deadline, refusedRounds, signal });
  const { shown, wasRead } = await setUntilAccepted(options, deadline);
  if (shown === undefined || !isSet(shown, inputs)) return confirmUntilVerified(options, shown, deadline);
  if (wasRead) return shown;
  const { origin } = new URL(inputs.baseUrl);
  const isShownAlike = showsWhatWasSet(origin);
  if (isShownAlike && (await isShownAlike)) return shown;
  const confirmed = confirmUntilVerified(options, shown, deadline);
  if (!isShownAlike)
    compareFirst(
      origin,
      confirmed.then((seen) => isDeepStrictEqual(seen, shown)),
    );
  return confirmed;
}

/** Whether the response to set-webhook is the full configuration (section 3): our URL, verified, and a bot URL. */
const isSet = ({ webhookUrl, status, botUrl }: Registration, inputs: WebhookInputs): boolean =>
  isSameUrl(webhookUrl, inputs.webhookUrl) && status === VERIFIED && botUrl !== "";

/**
 * Throws if the key is only a placeholder: after an import, or after a refresh that found a different key if
 * ignoreChanges keeps the placeholder.
 */
function requireKey({ webhookVerificationKey: key }: WebhookInputs): void {
  if (key !== IMPORTED_KEY && key !== KEY_DRIFTED) return;
  const text =
    key === IMPORTED_KEY
      ? "is not known after an import; write the key that is registered, or a new one"
      : "is not known, because the service has a different key; remove it from ignoreChanges, so that the program's key is set";
  throw new ApiChatError("invalid_config", "", {
    operation: "set-webhook",
    problems: [{ field: "webhookVerificationKey", text }],
  });
}

/**
 * Like {@link register}, but writes nothing if the registration already matches: left by a run that lost the response,
 * or made outside this program.
 */
export async function registerIfNeeded({
  seen,
  former,
  isDue = false,
  ...options
}: Omit<RegisterOptions, "before"> & {
  seen: Registration | undefined;
  /** The state that recorded the existing registration, if it is ours. */
  former?: WebhookState | undefined;
  /** Whether to call set-webhook even if the registration already matches. */
  isDue?: boolean;
}): Promise<{ registration: Registration; wasSet: boolean }> {
  if (seen && !isDue && matchesInputs(seen, options.inputs)) return { registration: seen, wasSet: false };
  return { registration: await register({ ...options, before: rememberBefore(seen, former) }), wasSet: true };
}

/** Whether nothing is left to set: the registration is complete and has our key, unmasked. */
const matchesInputs = (seen: Registration, inputs: WebhookInputs): boolean =>
  isSet(seen, inputs) && seen.webhookVerificationKey === inputs.webhookVerificationKey;

/** What to restore if set-webhook removes it, with the key that the service returns, or with ours. */
export function rememberBefore(seen: Registration | undefined, state?: WebhookState): Before | undefined {
  if (!seen) return undefined;
  const shown = seen.webhookVerificationKey;
  const isOurUrl = state !== undefined && seen.webhookUrl === expectedUrl(state.applied);
  const key = state?.webhookVerificationKey;
  const ours = isOurUrl && key !== IMPORTED_KEY ? key : undefined;
  return {
    url: isOurUrl ? state.applied.url : seen.webhookUrl,
    key: shown === "" || looksMasked(shown) ? ours : shown,
  };
}

/** What the service shows after set-webhook: in its response or, if that was lost, in get-webhook (`wasRead`). */
interface Shown {
  shown: Registration | undefined;
  wasRead: boolean;
}

/** Calls set-webhook, until the deadline while the service rejects the endpoint. */
async function setUntilAccepted(options: RegisterOptions, deadline: number): Promise<Shown> {
  const { client, inputs, signal } = options;
  try {
    return { shown: await client.setWebhook({ ...inputs, retryRejectedUntil: deadline }), wasRead: false };
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    if (error === signal?.reason) throw unconfirmed(error);
    if (error.mayHaveBeenAccepted) return { shown: await observeEffect(options, error), wasRead: true };
    throw mayBeAccepted(error) ? await undo(options, error) : error;
  }
}

/** After set-webhook lost its response: returns the current registration if it shows that the call took effect. */
async function observeEffect(options: RegisterOptions, lost: ApiChatError): Promise<Registration> {
  const now = await options.client.getWebhook().catch((error: unknown) => {
    if (!(error instanceof ApiChatError)) throw error;
    return undefined;
  });
  if (now && showsEffect(now, options)) return now;
  throw unconfirmed(lost, now ? `, although the registration is currently ${describe(now)}` : "");
}

function unconfirmed(lost: ApiChatError, soFar = ""): UnconfirmedError {
  const summary = `${lost.summary}. The change may still have taken effect${soFar}`;
  return new UnconfirmedError(lost.with({ summary, hints: withRunAgain(lost) }));
}

/** The code that aborted the operation may already have added this hint. */
const withRunAgain = ({ hints }: ApiChatError): Hint[] => [
  ...hints.filter(({ id }) => id !== RUN_AGAIN.id),
  RUN_AGAIN,
];

const RUN_AGAIN: Hint = { id: "run_again" };

function showsEffect(now: Registration, { inputs, before }: RegisterOptions): boolean {
  if (!isSameUrl(now.webhookUrl, inputs.webhookUrl) || now.botUrl === "") return false;
  const hadOurUrl = before !== undefined && isSameUrl(before.url, inputs.webhookUrl);
  return !hadOurUrl || now.webhookVerificationKey === inputs.webhookVerificationKey;
}

/**
 * After the last refusal: restores the previous registration, once, if the refused set-webhook removed it. Returns the
 * error, which describes the current registration.
 */
async function undo(
  { client, inputs, before }: RegisterOptions,
  refusal: ApiChatError,
): Promise<ApiChatError> {
  const { attempts } = refusal;
  const isTried = (inputs.preflight ?? DEFAULT_PREFLIGHT) === "require";
  const refused = `the service refused the webhook ${attempts} times${isTried ? ", although the preflight passed" : ""}`;
  const fail = (left: string): ApiChatError => {
    const summary = `${refusal.summary}; ${refused}. ${left}`;
    return new ApiChatError("rejected", summary, { ...refusal.toJSON(), attempts, cause: refusal });
  };
  try {
    const now = await client.getWebhook();
    const isOurUrl = now !== undefined && isSameUrl(now.webhookUrl, inputs.webhookUrl);
    const isIntact =
      now?.status === VERIFIED && before !== undefined && isSameUrl(now.webhookUrl, before.url);
    // A URL that is not ours is the previous one, or someone else's.
    if (isIntact || (now && !isOurUrl)) return fail(`Registered now: ${describe(now)}`);
    if (before?.key !== undefined) {
      const pair = { webhookUrl: before.url, webhookVerificationKey: before.key };
      return fail(`Put back: ${describe(await client.setWebhook(pair))}`);
    }
    const lost = `${before && formatUrl(before.url)} was registered before and could not be restored, because its key is not known`;
    const failure = fail(`Registered now: ${describe(now)}${before ? `. ${lost}` : ""}`);
    return now && now.botUrl !== "" ? new UnconfirmedError(failure, now) : failure;
  } catch (error) {
    const reason = error instanceof ApiChatError ? error.summary : String(error);
    return new UnconfirmedError(fail(`What is registered now is not known: ${reason}`));
  }
}

const describe = (seen: Registration | undefined): string =>
  seen ? `${formatUrl(seen.webhookUrl)}, status "${seen.status}"` : "nothing";

/** Reads the registration until its status is `verified`. Each response must show our URL and a bot URL. */
async function confirmUntilVerified(
  options: RegisterOptions,
  answer: Registration | undefined,
  deadline: number,
): Promise<Registration> {
  const { inputs } = options;
  let seen = await confirm(options, answer);
  const describeWait = (): string => `waiting for status "${VERIFIED}", now "${seen.status}"`;
  await printIfSlow(inputs.name, describeWait, async () => {
    for (let attempt = 1; seen.status !== VERIFIED && performance.now() < deadline; attempt += 1) {
      const pauseMs = Math.min(backOffMs(attempt), Math.max(0, deadline - performance.now()));
      seen = await confirm(options, seen, pauseMs);
    }
  });
  if (seen.status === VERIFIED) return seen;
  const summary = `the service set the webhook, but its status is "${seen.status}" and not "${VERIFIED}" after ${readySecondsOf(inputs)} s`;
  const hints: Hint[] = [{ id: "raise_ready_seconds" }, RUN_AGAIN];
  throw new UnconfirmedError(new ApiChatError("timeout", summary, { operation: "get-webhook", hints }), seen);
}

/** Reads the registration once, after a pause. If that fails, the error carries what the service returned last. */
async function confirm(
  { client, inputs, signal }: RegisterOptions,
  shown: Registration | undefined,
  pauseMs = 0,
): Promise<Registration> {
  try {
    if (pauseMs > 0) await sleep(pauseMs, signal);
    return requireOurs(await client.getWebhook(), shown, inputs);
  } catch (error) {
    if (!(error instanceof ApiChatError) || error.code === "conflict") throw error;
    const isKnown = shown && isSameUrl(shown.webhookUrl, inputs.webhookUrl) && shown.botUrl !== "";
    const summary = `set-webhook succeeded but could not be confirmed: ${error.summary}`;
    const failure = error.with({ summary, hints: withRunAgain(error) });
    throw new UnconfirmedError(failure, isKnown ? shown : undefined);
  }
}

function requireOurs(
  seen: Registration | undefined,
  shown: Registration | undefined,
  { webhookUrl, baseUrl }: WebhookInputs,
): Registration {
  const at = formatUrl(baseUrl);
  const fail = (what: string): ApiChatError =>
    new ApiChatError("protocol", `${at} shows ${what}`, { operation: "get-webhook" });
  if (seen === undefined) throw fail("nothing registered");
  // The service may write the URL in a way of its own; its answer to set-webhook shows how.
  if (!isSameUrl(seen.webhookUrl, webhookUrl) && seen.webhookUrl !== shown?.webhookUrl) {
    const registered = formatUrl(seen.webhookUrl);
    const summary = `${at} shows ${registered} right after ${formatUrl(webhookUrl)} was set: something else is registering webhooks there too`;
    throw new ApiChatError("conflict", summary, { operation: "set-webhook", facts: { at, registered } });
  }
  if (seen.botUrl === "") throw fail("the webhook without bot_url");
  return seen;
}
