import { sleep } from "../sleep.js";
import type { DeliveryFault } from "../faults.js";
import {
  describeTimeout,
  post,
  type Outgoing,
  type OutgoingRequest,
  type OutgoingResult,
} from "../outgoing.js";

const noAnswer: OutgoingResult = { reason: "no answer: the connection was closed" };

/** Posts a delivery as far as the fault lets it. What a fault does to signature and order is not done here. */
export async function postStruck(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  fault: DeliveryFault | undefined,
): Promise<OutgoingResult> {
  switch (fault) {
    case undefined:
    case "wrong-signature":
    case "duplicate":
    case "reorder":
      return post(outgoing, sent);
    case "close-before":
      return noAnswer;
    case "close-after":
      await post(outgoing, sent);
      return noAnswer;
    case "broken-json":
      return post(outgoing, { ...sent, body: sent.body.slice(0, -4) });
    case "truncated":
      await post(outgoing, { ...sent, cutAt: Math.floor(sent.body.length / 2) });
      return noAnswer;
    default:
      return "delayMs" in fault ? postLate(outgoing, sent, fault) : postUnheard(outgoing, sent, fault);
  }
}

type LateFault = Extract<DeliveryFault, { delayMs: number }>;

/** An answer that comes after the time limit is none. */
async function postLate(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  { delayMs, afterChange }: LateFault,
): Promise<OutgoingResult> {
  if (!afterChange) {
    await sleep(delayMs, outgoing.closing);
    return post(outgoing, sent);
  }
  const result = await post(outgoing, sent);
  await sleep(Math.min(delayMs, sent.timeoutMs), outgoing.closing);
  return delayMs < sent.timeoutMs ? result : { reason: describeTimeout(sent.timeoutMs) };
}

/** Another answer than the endpoint's own counts. */
async function postUnheard(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  { status, body = "", afterChange }: Extract<DeliveryFault, { status: number }>,
): Promise<OutgoingResult> {
  if (afterChange) await post(outgoing, sent);
  return { status, headers: {}, body };
}
