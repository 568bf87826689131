import { sleep } from "../lib/abort.js";
import { backOffMs } from "../lib/retry.js";
import { describeRecord } from "../diagnosis/describe.js";
import { diagnoseHandshake, type FailedHandshake, type HandshakeDiagnosis } from "../diagnosis/diagnose.js";
import { isFinal, mayBecomeReady } from "../diagnosis/handshake.js";
import { ApiChatError, type HandshakeTranscript } from "../errors/index.js";
import { printIfSlow, printLine } from "../resource/process.js";
import { isLoopback, printUrl } from "../lib/url.js";
import type { Preflight } from "./contract.js";

export interface PreflightOptions {
  /** The webhook URL. */
  url: string;
  verificationKey: string;
  /** The resource's name, for messages. */
  name: string;
  mode: Preflight;
  /** Address of the registration interface: a public service cannot reach a private webhook URL. */
  baseUrl: string;
  /** When waiting for the endpoint ends, in milliseconds of `performance.now()`. */
  deadline: number;
  /** So many rounds in a row with the same refusal of the token end the waiting. Default: none do. */
  refusedRounds?: number;
}

/** How long the endpoint may take for one answer, in milliseconds. */
const LONGEST_ANSWER_MS = 10_000;
/** An endpoint has this much time to answer even when `readySeconds` is over, in milliseconds. */
const LEAST_ANSWER_MS = 1_000;

/** A port of this machine on which nothing listens is not waited for longer: nothing on the way may hide an endpoint. */
const NOBODY_LISTENS_MS = 10_000;

/**
 * Performs the handshake against the webhook URL before the service does, so that a mistake in the endpoint never reaches a
 * live registration. Waits until the deadline for an endpoint that is not there yet. Throws `handshake_failed` with a
 * transcript. Under "warn" one round is made and its failure printed: the service may see what this machine cannot.
 */
export async function preflight(options: PreflightOptions): Promise<void> {
  const { name, mode } = options;
  if (mode === "off") return;
  const diagnosis = await waitForHandshake(options);
  for (const { text } of diagnosis.warnings) printLine(name, text);
  if (diagnosis.passed) return;
  const error = handshakeFailed(diagnosis, options);
  if (mode === "warn") return printLine(name, `warning: ${error.message}`);
  throw error;
}

async function waitForHandshake(options: PreflightOptions): Promise<HandshakeDiagnosis> {
  const { name, url, mode } = options;
  const begun = performance.now();
  const deadline = mode === "warn" ? Math.min(options.deadline, begun + LONGEST_ANSWER_MS) : options.deadline;
  const isRefusedForGood = createRefusalCount(options);
  let end = deadline;
  let rounds = 1;
  let seen = "";
  return printIfSlow(
    name,
    () =>
      `waiting for ${printUrl(url)} to answer the handshake, attempt ${rounds}${seen}; ${secondsUntil(end)} s left`,
    async () => {
      for (; ; rounds += 1) {
        const diagnosis = await diagnoseOnce(options);
        if (diagnosis.passed) return diagnosis;
        const { transcript } = diagnosis;
        // None if nothing was sent.
        transcript.rounds = transcript.rounds && rounds;
        end = nobodyListensHere(transcript) ? Math.min(deadline, begun + NOBODY_LISTENS_MS) : deadline;
        const leftMs = end - performance.now();
        if (mode === "warn" || leftMs <= 0 || isRefusedForGood(diagnosis) || !isWorthWaiting(diagnosis))
          return diagnosis;
        seen = `; so far ${diagnosis.reason}`;
        await sleep(Math.min(backOffMs(rounds), leftMs));
      }
    },
  );
}

const secondsUntil = (end: number): number => Math.max(0, Math.round((end - performance.now()) / 1000));

const nobodyListensHere = ({ addresses, steps }: HandshakeTranscript): boolean =>
  addresses.every(isLoopback) && steps.every(({ cause }) => cause === "connection_refused");

/** Whether the rounds so far, of which it is told each, have come to as many refusals of the token as end the waiting. */
function createRefusalCount({
  refusedRounds = Infinity,
}: PreflightOptions): (round: FailedHandshake) => boolean {
  let last: FailedHandshake["cause"] | undefined;
  let count = 0;
  return ({ cause, transcript: { rule } }) => {
    if (rule !== "token_refused") count = 0;
    else count = cause === last ? count + 1 : 1;
    last = cause;
    return count >= refusedRounds;
  };
}

function diagnoseOnce({
  url,
  verificationKey,
  baseUrl,
  deadline,
}: PreflightOptions): Promise<HandshakeDiagnosis> {
  const leftMs = Math.max(LEAST_ANSWER_MS, deadline - performance.now());
  const limitMs = Math.min(LONGEST_ANSWER_MS, leftMs);
  return diagnoseHandshake({ url, verificationKey, serviceUrl: baseUrl, limitMs });
}

/** Not if one answer is wrong for good, or if none says that the endpoint may be on its way. */
const isWorthWaiting = ({ transcript: { steps } }: FailedHandshake): boolean =>
  !steps.some(isFinal) && steps.some(mayBecomeReady);

function handshakeFailed({ reason, transcript }: FailedHandshake, { mode }: PreflightOptions): ApiChatError {
  const { rule } = transcript;
  const isBlind = rule === "private_address" || rule === "unreachable";
  const then = mode === "warn" ? "set-webhook is called nevertheless" : "set-webhook was not called";
  const httpStatus = transcript.steps.find(({ cause }) => cause === transcript.cause)?.httpStatus;
  return new ApiChatError(
    "handshake_failed",
    `the handshake with ${transcript.url} failed: ${reason}; ${then}`,
    {
      operation: "handshake",
      facts: { at: transcript.url },
      hints: [
        { id: "fix_endpoint" },
        ...(isBlind && mode !== "warn" ? [{ id: "warn_only", unless: rule } as const] : []),
      ],
      details: describeRecord(transcript),
      attempts: transcript.rounds,
      transcript,
      httpStatus,
    },
  );
}
