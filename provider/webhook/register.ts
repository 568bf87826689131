import { setTimeout as sleep } from "node:timers/promises";
import { backOffMs } from "../client/retry.js";
import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError } from "../errors.js";
import { printUrl } from "../url.js";
import { expectedUrl, isSameUrl } from "./fence.js";
import { DEFAULT_PREFLIGHT, VERIFIED, readySecondsOf, type Applied, type WebhookInputs } from "./inputs.js";
import { preflight } from "./preflight.js";
import { looksMasked } from "../resource/mask.js";
import { sayIfSlow } from "../resource/progress.js";
import { OF_PROGRAM, type Wording } from "./wording.js";

/** What stood in the workspace before, and what is needed to put it back. */
export interface Before {
  url: string;
  /** Undefined if nobody knows it: the service masks keys. */
  key: string | undefined;
}

export interface RegisterOptions {
  inputs: WebhookInputs;
  client: RegistrationClient;
  before: Before | undefined;
  wording?: Wording;
  /** For the preflight: so many rounds with the same refusal of the token end the waiting. Default: none do. */
  refusedRounds?: number;
}

/** A registration as it stands after set-webhook; `unfinished` says why it is not done yet. */
export interface Registered {
  seen: Registration;
  unfinished?: string;
}

/** Preflight, set-webhook, and a look at what stands there afterwards. Everything within `readySeconds`. */
export async function register(options: RegisterOptions): Promise<Registered> {
  const { inputs, wording, refusedRounds } = options;
  const deadline = performance.now() + readySecondsOf(inputs) * 1000;
  await preflight({
    name: inputs.name,
    url: inputs.webhookUrl,
    verificationKey: inputs.webhookVerificationKey,
    mode: inputs.preflight ?? DEFAULT_PREFLIGHT,
    baseUrl: inputs.baseUrl,
    deadline,
    ...(wording === undefined ? {} : { wording }),
    ...(refusedRounds === undefined ? {} : { refusedRounds }),
  });
  const answer = await setUntilAccepted(options, deadline);
  return confirm(options, answer, deadline);
}

/** Refusals of the address or the form of a request: repeating it changes nothing. */
const LASTING_REFUSALS = new Set([404, 405, 410, 413, 415]);

const mayBeAccepted = ({ code, httpStatus = 0 }: ApiChatError): boolean =>
  code === "rejected" && !LASTING_REFUSALS.has(httpStatus);

/** The service may see the endpoint later than we do, so its refusal is waited out too. */
async function setUntilAccepted(
  options: RegisterOptions,
  deadline: number,
): Promise<Registration | undefined> {
  const { client, inputs } = options;
  let attempt = 1;
  return sayIfSlow(
    inputs.name,
    () =>
      `waiting for ${printUrl(inputs.baseUrl)} to accept ${printUrl(inputs.webhookUrl)}, attempt ${attempt}`,
    async () => {
      for (; ; attempt += 1) {
        try {
          return await client.setWebhook(inputs);
        } catch (error) {
          if (!(error instanceof ApiChatError) || !mayBeAccepted(error)) throw error;
          const pauseMs = backOffMs(attempt);
          if (performance.now() + pauseMs > deadline) throw await refusedForGood(options, error, attempt);
          await sleep(pauseMs);
        }
      }
    },
  );
}

async function refusedForGood(
  options: RegisterOptions,
  refusal: ApiChatError,
  attempts: number,
): Promise<ApiChatError> {
  const { preflight: mode = DEFAULT_PREFLIGHT } = options.inputs;
  const passed = mode === "require" ? ", although the preflight passed" : "";
  const standing = await restore(options);
  const message = `${refusal.message}; the service refused the webhook ${attempts} times${passed}. ${standing}`;
  return new ApiChatError("rejected", message, {
    operation: "set-webhook",
    attempts,
    ...(refusal.httpStatus === undefined ? {} : { httpStatus: refusal.httpStatus }),
    cause: refusal,
  });
}

/** Puts back what stood there before, once, if the refused set-webhook took it away. Says what stands now. */
async function restore({ client, inputs, before }: RegisterOptions): Promise<string> {
  try {
    const now = await client.getWebhook();
    const isLeftOver = now === undefined || isSameUrl(now.webhookUrl, inputs.webhookUrl);
    const isIntact =
      before !== undefined &&
      now !== undefined &&
      isSameUrl(now.webhookUrl, before.url) &&
      now.status === VERIFIED;
    if (!before || isIntact || !isLeftOver) return `Now stands: ${describe(now)}`;
    if (before.key === undefined) {
      return `Now stands: ${describe(now)}. ${printUrl(before.url)} stood there before and could not be put back, because its key is not known`;
    }
    const restored = await client.setWebhook({ webhookUrl: before.url, webhookVerificationKey: before.key });
    return `Put back: ${describe(restored)}`;
  } catch (error) {
    return `What stands now is not known: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function describe(seen: Registration | undefined): string {
  return seen ? `${printUrl(seen.webhookUrl)}, status "${seen.status}"` : "nothing";
}

/** Looks until the service says `verified`. The first look must show our URL and a bot URL. */
async function confirm(
  { client, inputs, wording = OF_PROGRAM }: RegisterOptions,
  answer: Registration | undefined,
  deadline: number,
): Promise<Registered> {
  const { name } = inputs;
  let seen = requireOurs(await client.getWebhook(), answer, { inputs, wording });
  await sayIfSlow(
    name,
    () => `waiting for status "${VERIFIED}", now "${seen.status}"`,
    async () => {
      for (let look = 1; seen.status !== VERIFIED && performance.now() < deadline; look += 1) {
        await sleep(Math.min(backOffMs(look), Math.max(0, deadline - performance.now())));
        seen = requireOurs(await client.getWebhook(), answer, { inputs, wording });
      }
    },
  );
  if (seen.status === VERIFIED) return { seen };
  return {
    seen,
    unfinished: `${name}: the service set the webhook, but its status is "${seen.status}" and not "${VERIFIED}" after ${readySecondsOf(inputs)} s; ${wording.again}, or ${wording.waitLonger}`,
  };
}

function requireOurs(
  seen: Registration | undefined,
  answer: Registration | undefined,
  { inputs: { webhookUrl, baseUrl }, wording }: { inputs: WebhookInputs; wording: Wording },
): Registration {
  const at = printUrl(baseUrl);
  if (seen === undefined) {
    throw new ApiChatError("protocol", `set-webhook succeeded, but ${at} shows nothing registered`, {
      operation: "get-webhook",
    });
  }
  // The service may write the URL in a way of its own; its answer to set-webhook shows how.
  if (!isSameUrl(seen.webhookUrl, webhookUrl) && seen.webhookUrl !== answer?.webhookUrl) {
    throw new ApiChatError(
      "conflict",
      `${at} shows ${printUrl(seen.webhookUrl)} right after ${printUrl(webhookUrl)} was set: somebody else registers there too`,
      { operation: "set-webhook" },
    );
  }
  if (seen.botUrl === "") {
    throw new ApiChatError("protocol", `${at} shows the webhook without bot_url; ${wording.again}`, {
      operation: "get-webhook",
    });
  }
  return seen;
}

/** What to put back if set-webhook takes it away: with the key that the service shows, or with ours. */
export function rememberBefore(
  seen: Registration | undefined,
  state?: { webhookVerificationKey: string; applied: Applied },
): Before | undefined {
  if (!seen) return undefined;
  const shown = seen.webhookVerificationKey;
  const isOurUrl = state !== undefined && seen.webhookUrl === expectedUrl(state.applied);
  const showsMask = shown === "" || looksMasked(shown);
  const key = showsMask ? (isOurUrl ? state.webhookVerificationKey : undefined) : shown;
  return { url: isOurUrl ? state.applied.url : seen.webhookUrl, key };
}
