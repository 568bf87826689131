import { describeRecord } from "../diagnosis/describe.js";
import {
  diagnoseHandshake,
  type FailedHandshake,
  type HandshakeDiagnosis,
  MAX_ANSWER_MS,
} from "../diagnosis/diagnose.js";
import { isFinal, mayBecomeReady } from "../diagnosis/handshake.js";
import { ApiChatError, type HandshakeTranscript } from "../errors/index.js";
import { NEVER, sleep } from "../lib/abort.js";
import { printIfSlow, printLine, printWarning } from "../lib/provider-process.js";
import { backOffMs } from "../lib/retry.js";
import { isLoopback, formatUrl } from "../lib/url.js";
import { DEFAULT_PREFLIGHT, readySecondsOf, type WebhookInputs } from "./contract.js";

export interface PreflightOptions {
  /** When to stop waiting for the endpoint, as a `performance.now()` timestamp. Default: `readySeconds` from now. */
  deadline?: number;
  /**
   * Stop waiting after this many consecutive rounds with the same token refusal. Default {@link MAX_REFUSED_ROUNDS}.
   */
  refusedRounds?: number | undefined;
  /** Ends the preflight at once: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A wrong key stays wrong. An endpoint that is deployed in the same `up` has four to eight seconds to get the new one. */
const MAX_REFUSED_ROUNDS = 6;

/** Minimum time that an endpoint gets to answer, even after `readySeconds`, in milliseconds. */
const MIN_ANSWER_MS = 1_000;

/**
 * Maximum wait for a local port that nothing listens on, in milliseconds. On this machine, nothing in between can hide
 * a running endpoint.
 */
const LOCAL_PORT_WAIT_MS = 10_000;

/** When to stop waiting for the endpoint and the service, as a `performance.now()` timestamp. */
export const deadlineOf = (inputs: WebhookInputs): number =>
  performance.now() + readySecondsOf(inputs) * 1000;

/**
 * Performs the handshake against the webhook URL before the service does, so that a mistake in the endpoint never reaches a
 * live registration. Waits until the deadline for an endpoint that is not there yet. Throws `handshake_failed` with a
 * transcript. Under "warn" one round is made and its failure printed: the service may see what this machine cannot.
 */
export async function preflight(inputs: WebhookInputs, options: PreflightOptions = {}): Promise<void> {
  const { name, preflight: mode = DEFAULT_PREFLIGHT } = inputs;
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
  const countRefusals = createRefusalCount();
  let end = latest;
  let rounds = 1;
  let seen = "";
  const describe = (): string =>
    `waiting for ${formatUrl(url)} to answer the handshake, attempt ${rounds}${seen}; ${secondsUntil(end)} s left`;
  return printIfSlow(name, describe, async () => {
    for (; ; rounds += 1) {
      const longestMs = Math.max(MIN_ANSWER_MS, deadline - performance.now());
      const limitMs = Math.min(MAX_ANSWER_MS, longestMs);
      const diagnosis = await diagnoseHandshake({ url, verificationKey, serviceUrl, limitMs, signal });
      if (diagnosis.passed) return diagnosis;
      const { transcript } = diagnosis;
      // `rounds` stays 0 if nothing was sent.
      transcript.rounds = transcript.rounds && rounds;
      end = nobodyListensHere(transcript) ? Math.min(latest, begun + LOCAL_PORT_WAIT_MS) : latest;
      const leftMs = end - performance.now();
      const isRefusedForGood = countRefusals(diagnosis) >= refusedRounds;
      if (isOneRound || leftMs <= 0 || isRefusedForGood || !isWorthWaiting(transcript)) return diagnosis;
      seen = `; so far ${diagnosis.reason}`;
      await sleep(Math.min(backOffMs(rounds), leftMs), signal);
    }
  });
}

const secondsUntil = (end: number): number => Math.max(0, Math.round((end - performance.now()) / 1000));

const nobodyListensHere = ({ addresses, steps }: HandshakeTranscript): boolean =>
  addresses.every(isLoopback) && steps.every(({ cause }) => cause === "connection_refused");

/**
 * Returns a function that is called with each round and returns how many consecutive rounds ended in the same token
 * refusal.
 */
function createRefusalCount(): (round: FailedHandshake) => number {
  let last: FailedHandshake["cause"] | undefined;
  let count = 0;
  return ({ cause, transcript: { rule } }) => {
    if (rule !== "token_refused") count = 0;
    else count = cause === last ? count + 1 : 1;
    last = cause;
    return count;
  };
}

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
