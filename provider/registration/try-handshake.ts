import {
  type FailedHandshake,
  type HandshakeDiagnosis,
  MAX_ANSWER_MS,
  describeRecord,
  diagnoseHandshake,
  isFinal,
  isLasting,
  mayBecomeReady,
} from "../diagnosis/internal.js";
import { ApiChatError, type HandshakeTranscript } from "../errors/index.js";
import { NEVER, sleep } from "../lib/abort.js";
import { printIfSlow, printLine, printWarning } from "../lib/progress.js";
import { backOffMs } from "../lib/retry.js";
import { formatUrl, isLoopback } from "../lib/url.js";
import type { WantedWebhook } from "./wanted.js";

export interface TryHandshakeOptions {
  /** When to stop waiting for the endpoint, as a `performance.now()` timestamp. */
  deadline: number;
  /** Stop after this many consecutive token rejections. Default {@link MAX_REJECTED_ROUNDS}. */
  rejectedRounds?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** These rounds take four to eight seconds, enough for an endpoint deployed in the same `up` to load its key. */
const MAX_REJECTED_ROUNDS = 6;

/** If a cause rarely goes away, stop waiting after this many consecutive rounds with it. */
const MAX_LASTING_ROUNDS = 3;

/** Minimum time that an endpoint gets to answer, even after `readySeconds`, in milliseconds. */
const MIN_ANSWER_MS = 1_000;

/** How long to wait for a local port that nothing listens on, in milliseconds. */
const LOCAL_PORT_WAIT_MS = 10_000;

/**
 * Performs the handshake before the service does, so that a faulty endpoint never replaces a working one in the
 * registration. Waits until the deadline for an endpoint that is not ready. Throws `handshake_failed` with a
 * transcript. With "warn", tries one round and prints its failure, because the service may reach what we cannot.
 */
export async function tryHandshake(wanted: WantedWebhook, options: TryHandshakeOptions): Promise<void> {
  const { name, preflight: mode } = wanted;
  if (mode === "off") return;
  const diagnosis = await waitForHandshake(wanted, options);
  for (const { text } of diagnosis.warnings) printLine(name, text);
  if (diagnosis.passed) return;
  const error = handshakeFailed(diagnosis, mode === "warn");
  if (mode === "warn") return printWarning(name, ...error.message.split("\n"));
  throw error;
}

async function waitForHandshake(
  wanted: WantedWebhook,
  { deadline, rejectedRounds = MAX_REJECTED_ROUNDS, signal = NEVER }: TryHandshakeOptions,
): Promise<HandshakeDiagnosis> {
  const { name, webhookUrl: url, webhookVerificationKey: verificationKey, baseUrl: serviceUrl } = wanted;
  const isOneRound = wanted.preflight === "warn";
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
      ? `attempts left: ${maxSameRounds - sameRounds}`
      : `${Math.max(0, Math.round((end - performance.now()) / 1000))} s left`;
    return `waiting for ${formatUrl(url)} to answer the handshake, attempt ${rounds}${seen}; ${left}`;
  };
  const wait = async (): Promise<HandshakeDiagnosis> => {
    for (; ; rounds += 1) {
      const limitMs = Math.min(MAX_ANSWER_MS, Math.max(MIN_ANSWER_MS, deadline - performance.now()));
      const diagnosis = await diagnoseHandshake({ url, verificationKey, serviceUrl, limitMs, signal });
      if (diagnosis.passed) return diagnosis;
      const { transcript, cause } = diagnosis;
      // `transcript.rounds` stays 0 if nothing was sent.
      transcript.rounds = transcript.rounds && rounds;
      end = nobodyListensHere(transcript) ? Math.min(latest, begun + LOCAL_PORT_WAIT_MS) : latest;
      const leftMs = end - performance.now();
      sameRounds = cause === last?.cause ? sameRounds + 1 : 1;
      const usualRounds = isLasting(cause) ? MAX_LASTING_ROUNDS : Infinity;
      maxSameRounds = transcript.rule === "token_refused" ? rejectedRounds : usualRounds;
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
