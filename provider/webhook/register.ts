import { isDeepStrictEqual } from "node:util";
import { mayBeAccepted, type Registration, type RegistrationClient } from "../client/internal.js";
import {
  isLasting,
  describeRecord,
  diagnoseHandshake,
  type FailedHandshake,
  type HandshakeDiagnosis,
  MAX_ANSWER_MS,
  isFinal,
  mayBecomeReady,
} from "../diagnosis/internal.js";
import { ApiChatError, type HandshakeTranscript, type Hint } from "../errors/index.js";
import { NEVER, sleep } from "../lib/abort.js";
import { looksMasked } from "../responder/key-rules.js";
import { printIfSlow, printLine, printWarning } from "../pulumi/provider-process.js";
import { backOffMs } from "../lib/retry.js";
import { isLoopback, isSameUrl, formatUrl } from "../lib/url.js";
import type { Run } from "./run.js";
import {
  IMPORTED_KEY,
  KEY_DRIFTED,
  VERIFIED,
  expectedUrl,
  type WebhookInputs,
  type WebhookState,
} from "./state.js";

// Registration has three steps within `readySeconds`: preflight, set-webhook, and a get-webhook that confirms it. The last one
// is skipped once the service has shown, for one webhook of this run, that get-webhook returns the same as set-webhook did.

export interface RegisterOptions extends Pick<PreflightOptions, "refusedRounds" | "signal"> {
  run: Run;
  inputs: WebhookInputs;
  client: Pick<RegistrationClient, "getWebhook" | "setWebhook">;
  /** The current registration. */
  seen: Registration | undefined;
  /** The state that recorded it, if it is ours. */
  former?: WebhookState | undefined;
  /**
   * Called before a failure is thrown after which the webhook may be registered anyway. Receives the current registration if
   * it is known to have our URL and a bot URL.
   */
  onUnconfirmed?: (seen: Registration | undefined) => void;
}

/** Whether nothing is left to set: the registration is complete and has our key, unmasked. */
export const isRegistered = (seen: Registration, inputs: WebhookInputs): boolean =>
  isSet(seen, inputs) && seen.webhookVerificationKey === inputs.webhookVerificationKey;

/** Whether the response to set-webhook is the full configuration (section 3): our URL, verified, and a bot URL. */
const isSet = (seen: Registration, inputs: WebhookInputs): boolean =>
  isOurUrl(seen, inputs) && seen.status === VERIFIED && seen.botUrl !== "";

/**
 * Registers the webhook and returns the resulting registration. Calls set-webhook until the deadline while the service
 * rejects the endpoint.
 */
export async function register(options: RegisterOptions): Promise<Registration> {
  const { client, inputs, run, signal } = options;
  requireKey(inputs);
  const deadline = deadlineOf(inputs);
  await preflight(inputs, { deadline, refusedRounds: refusedRoundsOf(options), signal });
  let shown: Registration | undefined;
  const confirm = (): Promise<Registration> => confirmUntilVerified(options, shown, deadline);
  try {
    shown = await client.setWebhook({ ...inputs, retryRejectedUntil: deadline });
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    shown = await settle(options, error);
    return isSet(shown, inputs) ? shown : confirm();
  }
  if (shown === undefined || !isSet(shown, inputs)) return confirm();
  return run.confirmOnce(new URL(inputs.baseUrl).origin, shown, confirm);
}

/** How long a refused key is waited for: until the deadline if this run changes the key, because the endpoint gets it now. */
const refusedRoundsOf = ({ inputs, former, refusedRounds }: RegisterOptions): number | undefined =>
  former && former.webhookVerificationKey !== inputs.webhookVerificationKey ? Infinity : refusedRounds;

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

const readySecondsOf = ({ timeouts }: WebhookInputs): number => timeouts?.readySeconds ?? 60;

/** When to stop waiting for the endpoint and the service, as a `performance.now()` timestamp. */
const deadlineOf = (inputs: WebhookInputs): number => performance.now() + readySecondsOf(inputs) * 1000;

export interface PreflightOptions {
  /** When to stop waiting for the endpoint, as a `performance.now()` timestamp. Default: `readySeconds` from now. */
  deadline?: number;
  /** Stop waiting after this many consecutive rounds with the same token refusal. Default {@link MAX_REFUSED_ROUNDS}. */
  refusedRounds?: number | undefined;
  /** Ends the preflight at once: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A wrong key stays wrong. An endpoint that is deployed in the same `up` has four to eight seconds to get its key. */
const MAX_REFUSED_ROUNDS = 6;

/** Stop waiting after this many consecutive rounds with the same cause if that cause rarely goes away. */
const MAX_LASTING_ROUNDS = 3;

/** Minimum time that an endpoint gets to answer, even after `readySeconds`, in milliseconds. */
const MIN_ANSWER_MS = 1_000;

/**
 * Maximum wait for a local port that nothing listens on, in milliseconds. On this machine, nothing in between can hide
 * a running endpoint.
 */
const LOCAL_PORT_WAIT_MS = 10_000;

/**
 * Performs the handshake against the webhook URL before the service does, so that a mistake in the endpoint never reaches a
 * live registration. Waits until the deadline for an endpoint that is not there yet. Throws `handshake_failed` with a
 * transcript. Under "warn" one round is made and its failure printed: the service may see what this machine cannot.
 */
export async function preflight(inputs: WebhookInputs, options: PreflightOptions = {}): Promise<void> {
  const { name, preflight: mode } = inputs;
  if (mode === "off") return;
  const diagnosis = await waitForHandshake(inputs, options);
  for (const { text } of diagnosis.warnings) printLine(name, text);
  if (diagnosis.passed) return;
  const error = handshakeFailed(diagnosis, mode === "warn");
  if (mode === "warn") return printWarning(name, ...error.message.split("\n"));
  throw error;
}

async function waitForHandshake(
  inputs: WebhookInputs,
  { deadline = deadlineOf(inputs), refusedRounds = MAX_REFUSED_ROUNDS, signal = NEVER }: PreflightOptions,
): Promise<HandshakeDiagnosis> {
  const { name, webhookUrl: url, webhookVerificationKey: verificationKey, baseUrl: serviceUrl } = inputs;
  const isOneRound = inputs.preflight === "warn";
  const begun = performance.now();
  const latest = isOneRound ? Math.min(deadline, begun + MAX_ANSWER_MS) : deadline;
  let sameRounds = 0;
  let maxSameRounds = Infinity;
  let last: FailedHandshake | undefined;
  let end = latest;
  let rounds = 1;
  const describeWait = (): string => {
    const seen = last ? `; so far ${last.reason}` : "";
    const left = Number.isFinite(maxSameRounds)
      ? `${maxSameRounds - sameRounds} more with this result`
      : `${Math.max(0, Math.round((end - performance.now()) / 1000))} s left`;
    return `waiting for ${formatUrl(url)} to answer the handshake, attempt ${rounds}${seen}; ${left}`;
  };
  const wait = async (): Promise<HandshakeDiagnosis> => {
    for (; ; rounds += 1) {
      const limitMs = Math.min(MAX_ANSWER_MS, Math.max(MIN_ANSWER_MS, deadline - performance.now()));
      const diagnosis = await diagnoseHandshake({ url, verificationKey, serviceUrl, limitMs, signal });
      if (diagnosis.passed) return diagnosis;
      const { transcript, cause } = diagnosis;
      // `rounds` stays 0 if nothing was sent.
      transcript.rounds = transcript.rounds && rounds;
      end = nobodyListensHere(transcript) ? Math.min(latest, begun + LOCAL_PORT_WAIT_MS) : latest;
      const leftMs = end - performance.now();
      sameRounds = cause === last?.cause ? sameRounds + 1 : 1;
      const usualRounds = isLasting(cause) ? MAX_LASTING_ROUNDS : Infinity;
      maxSameRounds = transcript.rule === "token_refused" ? refusedRounds : usualRounds;
      last = diagnosis;
      if (isOneRound || leftMs <= 0 || sameRounds >= maxSameRounds || !isWorthWaiting(transcript))
        return diagnosis;
      await sleep(Math.min(backOffMs(rounds), leftMs), signal);
    }
  };
  return printIfSlow(name, describeWait, wait, signal);
}

const nobodyListensHere = ({ addresses, steps }: HandshakeTranscript): boolean =>
  addresses.every(isLoopback) && steps.every(({ cause }) => cause === "connection_refused");

/** False if any answer is final, or if none suggests that the endpoint may still be starting. */
const isWorthWaiting = ({ steps }: HandshakeTranscript): boolean =>
  !steps.some(isFinal) && steps.some(mayBecomeReady);

function handshakeFailed({ reason, transcript }: FailedHandshake, isWarning: boolean): ApiChatError {
  const { url: at, rule, cause, rounds: attempts, steps } = transcript;
  const isBlind = rule === "private_address" || rule === "unreachable";
  const then = isWarning ? "set-webhook is called anyway" : "set-webhook was not called";
  return new ApiChatError("handshake_failed", `the handshake with ${at} failed: ${reason}; ${then}`, {
    operation: "handshake",
    facts: { at },
    hints: [
      { id: "fix_endpoint" },
      ...(isBlind && !isWarning ? [{ id: "warn_only", unless: rule } as const] : []),
    ],
    details: describeRecord(transcript),
    attempts,
    transcript,
    httpStatus: steps.find((step) => step.cause === cause)?.httpStatus,
  });
}

/**
 * After set-webhook failed: looks once at what is registered. Returns it if the call took effect although its response was
 * lost. Otherwise throws the failure, which says what is registered now.
 */
async function settle(options: RegisterOptions, error: ApiChatError): Promise<Registration> {
  const { client, inputs, signal, seen } = options;
  const isEnded = signal?.aborted === true;
  const isAmbiguous = isEnded || error.mayHaveBeenAccepted === true;
  const failure = isAmbiguous
    ? withSentence(withRunAgain(error), "The change may still have taken effect")
    : describeRefusal(error, inputs);
  if (isEnded) throw unconfirmed(options, failure);
  const isRefused = error.code === "rejected" || error.httpStatus !== undefined;
  if (!isAmbiguous && !isRefused) throw failure;
  let now: Registration | undefined;
  try {
    now = await client.getWebhook();
  } catch (unknown) {
    const reason = unknown instanceof ApiChatError ? unknown.summary : String(unknown);
    throw unconfirmed(options, withSentence(failure, `What is registered now is not known: ${reason}`));
  }
  if (isAmbiguous && now && showsEffect(now, options)) return now;
  const { isRestored, left } = await restore(options, now);
  const settled = withSentence(failure, left);
  if (isAmbiguous) throw unconfirmed(options, settled);
  const isLeftBehind =
    !isRestored && now && now.botUrl !== "" && isOurUrl(now, inputs) && !isDeepStrictEqual(now, seen);
  throw isLeftBehind ? unconfirmed(options, settled, now) : settled;
}

const withSentence = (failure: ApiChatError, sentence: string): ApiChatError =>
  failure.with({ summary: `${failure.summary}. ${sentence}` });

/** Says how often the service refused the endpoint, if that is why set-webhook failed. */
function describeRefusal(error: ApiChatError, { preflight: mode = "require" }: WebhookInputs): ApiChatError {
  if (!mayBeAccepted(error)) return error;
  const { summary, attempts, hints } = error;
  const times = attempts === 1 ? "once" : `${attempts} times`;
  const passed = mode === "require" ? ", although the preflight passed" : "";
  return error.with({
    summary: `${summary}; the service refused the webhook ${times}${passed}`,
    hints: [...hints, ...(mode === "off" ? [{ id: "run_preflight" } as const] : [])],
  });
}

function showsEffect(now: Registration, options: RegisterOptions): boolean {
  const { inputs } = options;
  if (!isOurUrl(now, inputs) || now.botUrl === "") return false;
  const before = previousOf(options);
  const hadOurUrl = before !== undefined && isOurUrl(before, inputs);
  return !hadOurUrl || now.webhookVerificationKey === inputs.webhookVerificationKey;
}

const isOurUrl = (seen: Pick<Registration, "webhookUrl">, inputs: WebhookInputs): boolean =>
  isSameUrl(seen.webhookUrl, inputs.webhookUrl);

/** The code that aborted the operation may already have added this hint. */
const withRunAgain = (failure: ApiChatError): ApiChatError =>
  failure.with({ hints: [...failure.hints.filter(({ id }) => id !== "run_again"), { id: "run_again" }] });

/** Returns the failure, once `onUnconfirmed` was called. */
function unconfirmed(options: RegisterOptions, failure: ApiChatError, seen?: Registration): ApiChatError {
  options.onUnconfirmed?.(seen);
  return failure;
}

/**
 * Reads the registration until its status is `verified`. Each response must show our URL and a bot URL. If that fails,
 * what the service returned last is kept.
 */
async function confirmUntilVerified(
  options: RegisterOptions,
  response: Registration | undefined,
  deadline: number,
): Promise<Registration> {
  const { client, inputs, signal } = options;
  let shown = response;
  const look = async (): Promise<Registration> =>
    (shown = requireOurs(await client.getWebhook(), shown, inputs));
  try {
    let seen = await look();
    const describeWait = (): string => `waiting for status "${VERIFIED}", now "${seen.status}"`;
    const wait = async (): Promise<void> => {
      for (let attempt = 1; seen.status !== VERIFIED && performance.now() < deadline; attempt += 1) {
        await sleep(Math.min(backOffMs(attempt), deadline - performance.now()), signal);
        seen = await look();
      }
    };
    await printIfSlow(inputs.name, describeWait, wait, signal);
    if (seen.status === VERIFIED) return seen;
  } catch (error) {
    if (!(error instanceof ApiChatError) || error.code === "conflict") throw error;
    const isKnown = shown && isOurUrl(shown, inputs) && shown.botUrl !== "";
    const summary = `set-webhook succeeded but could not be confirmed: ${error.summary}`;
    throw unconfirmed(options, withRunAgain(error).with({ summary }), isKnown ? shown : undefined);
  }
  const summary = `the service set the webhook, but its status is "${shown?.status}" and not "${VERIFIED}" after ${readySecondsOf(inputs)} s`;
  const hints: Hint[] = [{ id: "raise_ready_seconds" }, { id: "run_again" }];
  const failure = new ApiChatError("timeout", summary, { operation: "get-webhook", hints });
  const { isRestored, left } = await restore(options, shown);
  throw isRestored ? withSentence(failure, left) : unconfirmed(options, withSentence(failure, left), shown);
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
  // The service may spell the URL differently; its response to set-webhook shows how.
  if (!isSameUrl(seen.webhookUrl, webhookUrl) && seen.webhookUrl !== shown?.webhookUrl) {
    const registered = formatUrl(seen.webhookUrl);
    const summary = `${at} shows ${registered} right after ${formatUrl(webhookUrl)} was set: something else is registering webhooks there too`;
    throw new ApiChatError("conflict", summary, { operation: "set-webhook", facts: { at, registered } });
  }
  if (seen.botUrl === "") throw fail("the webhook without bot_url");
  return seen;
}

/**
 * After a set-webhook that failed, or that did not become `verified`: restores the verified registration from before, once,
 * if it is gone or was overwritten. Someone else's is left. Says what is registered now.
 */
async function restore(
  options: RegisterOptions,
  now: Registration | undefined,
): Promise<{ isRestored: boolean; left: string }> {
  const { client, inputs, seen } = options;
  const stays = { isRestored: false, left: `Registered now: ${describe(now)}` };
  const before = previousOf(options);
  const isLost = !isDeepStrictEqual(now, seen) && (now === undefined || isOurUrl(now, inputs));
  if (!isLost || before === undefined || seen?.status !== VERIFIED) return stays;
  const { webhookUrl, webhookVerificationKey } = before;
  let reason = "its key is not known";
  if (webhookVerificationKey !== undefined) {
    try {
      const restored = await client.setWebhook({ webhookUrl, webhookVerificationKey });
      return { isRestored: true, left: `Put back: ${describe(restored)}` };
    } catch (error) {
      if (!(error instanceof ApiChatError)) throw error;
      reason = error.summary;
    }
  }
  const lost = `${formatUrl(webhookUrl)} was registered before and could not be restored: ${reason}`;
  return { ...stays, left: `${stays.left}. ${lost}` };
}

/**
 * What to restore if set-webhook removes it. The key is the one that the service returns, or ours; undefined if it is not
 * known, because the service masks keys.
 */
function previousOf({ seen, former }: RegisterOptions) {
  if (!seen) return undefined;
  const { webhookUrl, webhookVerificationKey: shown } = seen;
  const isShown = shown !== "" && !looksMasked(shown);
  if (former === undefined || webhookUrl !== expectedUrl(former.applied))
    return { webhookUrl, webhookVerificationKey: isShown ? shown : undefined };
  const ours = former.webhookVerificationKey;
  const known = ours === IMPORTED_KEY ? undefined : ours;
  return { webhookUrl: former.applied.url, webhookVerificationKey: isShown ? shown : known };
}

const describe = (seen: Registration | undefined): string =>
  seen ? `${formatUrl(seen.webhookUrl)}, status "${seen.status}"` : "nothing";
