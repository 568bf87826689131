import { setTimeout as sleep } from "node:timers/promises";
import { backOffMs } from "../lib/retry.js";
import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError, type Failure } from "../errors/index.js";
import { printUrl } from "../lib/url.js";
import { expectedUrl, isSameUrl } from "./fence.js";
import { DEFAULT_PREFLIGHT, VERIFIED, readySecondsOf, type Applied, type WebhookInputs } from "./inputs.js";
import { preflight } from "./preflight.js";
import { looksMasked } from "../resource/mask.js";
import { sayIfSlow } from "../resource/progress.js";

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
  /** For the preflight: so many rounds with the same refusal of the token end the waiting. Default: none do. */
  refusedRounds?: number;
}

/** set-webhook may have taken effect, or did, and it is not confirmed that all is as wanted. */
export class UnconfirmedError extends ApiChatError {
  /** What is registered now, of our URL and with a bot URL; undefined if that is not known. */
  readonly seen: Registration | undefined;

  constructor(failure: ApiChatError, changes: Pick<Failure, "summary" | "hints">, seen?: Registration) {
    const { code, summary, ...details } = { ...failure.toJSON(), ...changes };
    super(code, summary, { ...details, cause: failure.cause });
    this.seen = seen;
  }
}

/**
 * Preflight, set-webhook, and a get-webhook that confirms it; gives what is registered then. Everything within
 * `readySeconds`. Throws `UnconfirmedError` where the webhook may be registered all the same.
 */
export async function register(options: RegisterOptions): Promise<Registration> {
  const deadline = deadlineOf(options.inputs);
  await tryEndpoint(options, deadline);
  return confirm(options, await setUntilAccepted(options, deadline), deadline);
}

/** When waiting for the endpoint and for the service ends, in milliseconds of `performance.now()`. */
const deadlineOf = (inputs: WebhookInputs): number => performance.now() + readySecondsOf(inputs) * 1000;

/** Performs the handshake as the inputs ask for it. */
export function tryEndpoint(
  { inputs, refusedRounds }: Pick<RegisterOptions, "inputs" | "refusedRounds">,
  deadline = deadlineOf(inputs),
): Promise<void> {
  return preflight({
    name: inputs.name,
    url: inputs.webhookUrl,
    verificationKey: inputs.webhookVerificationKey,
    mode: inputs.preflight ?? DEFAULT_PREFLIGHT,
    baseUrl: inputs.baseUrl,
    deadline,
    ...(refusedRounds === undefined ? {} : { refusedRounds }),
  });
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
          if (!(error instanceof ApiChatError)) throw error;
          if (mayHaveTakenEffect(error)) return await recoverAnswer(options, error);
          if (!mayBeAccepted(error)) throw error;
          const pauseMs = backOffMs(attempt);
          if (performance.now() + pauseMs > deadline) throw await refusedForGood(options, error, attempt);
          await sleep(pauseMs);
        }
      }
    },
  );
}

/** Whether a call that writes may have written: without an answer nobody knows. */
export const mayHaveTakenEffect = ({ code, attempts }: ApiChatError): boolean =>
  attempts > 0 && (code === "timeout" || code === "unavailable" || code === "protocol");

/** Looks for the effect of a set-webhook whose answer is lost; gives what is registered if it is ours. */
async function recoverAnswer(options: RegisterOptions, lost: ApiChatError): Promise<Registration> {
  const now = await options.client.getWebhook().catch(ignoreFailure);
  if (now && showsEffect(now, options)) return now;
  const soFar = now ? `, although ${describe(now)} is registered so far` : "";
  throw new UnconfirmedError(lost, {
    summary: `${lost.summary}. The change may have been made nevertheless${soFar}`,
    hints: [...lost.hints, { id: "run_again" }],
  });
}

/** The failure to report is that of set-webhook. */
function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof ApiChatError)) throw error;
}

function showsEffect(now: Registration, { inputs, before }: RegisterOptions): boolean {
  if (!isSameUrl(now.webhookUrl, inputs.webhookUrl) || now.botUrl === "") return false;
  const hadOurUrl = before !== undefined && isSameUrl(before.url, inputs.webhookUrl);
  return !hadOurUrl || now.webhookVerificationKey === inputs.webhookVerificationKey;
}

async function refusedForGood(
  options: RegisterOptions,
  refusal: ApiChatError,
  attempts: number,
): Promise<ApiChatError> {
  const { preflight: mode = DEFAULT_PREFLIGHT } = options.inputs;
  const passed = mode === "require" ? ", although the preflight passed" : "";
  const { text, isOurs, seen } = await restore(options);
  const summary = `${refusal.summary}; the service refused the webhook ${attempts} times${passed}. ${text}`;
  const error = new ApiChatError("rejected", summary, { ...refusal.toJSON(), attempts, cause: refusal });
  return isOurs ? new UnconfirmedError(error, error, seen) : error;
}

/** What a refused set-webhook has left behind. */
interface Leftover {
  text: string;
  /** It is, or may be, what we tried to set. */
  isOurs: boolean;
  /** What is registered now, if it is ours. */
  seen?: Registration;
}

/** Puts back what was registered before, once, if the refused set-webhook took it away. */
async function restore({ client, inputs, before }: RegisterOptions): Promise<Leftover> {
  try {
    const now = await client.getWebhook();
    const isLeftOver = now === undefined || isSameUrl(now.webhookUrl, inputs.webhookUrl);
    const isIntact =
      before !== undefined &&
      now !== undefined &&
      isSameUrl(now.webhookUrl, before.url) &&
      now.status === VERIFIED;
    const text = `Registered now: ${describe(now)}`;
    if (isIntact || !isLeftOver) return { text, isOurs: false };
    const left = now && now.botUrl !== "" ? { isOurs: true, seen: now } : { isOurs: false };
    if (!before) return { text, ...left };
    if (before.key === undefined) {
      const was = `${printUrl(before.url)} was registered before and could not be put back, because its key is not known`;
      return { text: `${text}. ${was}`, ...left };
    }
    const restored = await client.setWebhook({ webhookUrl: before.url, webhookVerificationKey: before.key });
    return { text: `Put back: ${describe(restored)}`, isOurs: false };
  } catch (error) {
    const reason = error instanceof ApiChatError ? error.summary : String(error);
    return { text: `What is registered now is not known: ${reason}`, isOurs: true };
  }
}

function describe(seen: Registration | undefined): string {
  return seen ? `${printUrl(seen.webhookUrl)}, status "${seen.status}"` : "nothing";
}

/** Looks until the service says `verified`. Each look must show our URL and a bot URL. */
async function confirm(
  options: RegisterOptions,
  answer: Registration | undefined,
  deadline: number,
): Promise<Registration> {
  const { inputs } = options;
  let seen = await confirmOnce(options, answer);
  await sayIfSlow(
    inputs.name,
    () => `waiting for status "${VERIFIED}", now "${seen.status}"`,
    async () => {
      for (let look = 1; seen.status !== VERIFIED && performance.now() < deadline; look += 1) {
        await sleep(Math.min(backOffMs(look), Math.max(0, deadline - performance.now())));
        seen = await confirmOnce(options, seen);
      }
    },
  );
  if (seen.status === VERIFIED) return seen;
  const summary = `the service set the webhook, but its status is "${seen.status}" and not "${VERIFIED}" after ${readySecondsOf(inputs)} s`;
  const hints = [{ id: "raise_ready_seconds" }, { id: "run_again" }] as const;
  const error = new ApiChatError("timeout", summary, { operation: "get-webhook", hints });
  throw new UnconfirmedError(error, error, seen);
}

/** One look. Where it fails, what the service showed last is what there is to keep. */
async function confirmOnce(
  { client, inputs }: RegisterOptions,
  shown: Registration | undefined,
): Promise<Registration> {
  try {
    return requireOurs(await client.getWebhook(), shown, inputs);
  } catch (error) {
    if (!(error instanceof ApiChatError) || error.code === "conflict") throw error;
    const known = shown && isSameUrl(shown.webhookUrl, inputs.webhookUrl) && shown.botUrl !== "";
    const summary = `set-webhook succeeded, and could not be confirmed: ${error.summary}`;
    const hints = [...error.hints, { id: "run_again" } as const];
    throw new UnconfirmedError(error, { summary, hints }, known ? shown : undefined);
  }
}

function requireOurs(
  seen: Registration | undefined,
  answer: Registration | undefined,
  { webhookUrl, baseUrl }: WebhookInputs,
): Registration {
  const at = printUrl(baseUrl);
  if (seen === undefined) {
    throw new ApiChatError("protocol", `${at} shows nothing registered`, { operation: "get-webhook" });
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
    throw new ApiChatError("protocol", `${at} shows the webhook without bot_url`, {
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
