import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { postDelivery, type Outcome } from "./post-delivery";
import { decodeDelivery } from "./queued-delivery";
import type { Queue } from "./sqs";

export interface ForwarderOptions {
  /** The URL to which deliveries are posted. */
  target: string;
  queue: Pick<Queue, "delay">;
  deadLetters: Pick<Queue, "send">;
}

/** The longest pause between two attempts, unless the target asks for more. */
const MAX_PAUSE_SECONDS = 300;
/** The longest pause that a target may request. */
const MAX_RETRY_AFTER_SECONDS = 3_600;

/**
 * Creates the handler of the queue. It forwards the conversations of a batch concurrently, and the deliveries of a
 * conversation in order: after a failure, the later ones wait. It reports failed records by id, so that Lambda
 * deletes only the others from the queue.
 */
export function createForwarder(options: ForwarderOptions): (event: SQSEvent) => Promise<SQSBatchResponse> {
  return async ({ Records }) => {
    const conversations = Map.groupBy(Records, groupOf).values();
    const failed = await Promise.all([...conversations].map((records) => forwardInOrder(records, options)));
    return { batchItemFailures: failed.flat().map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

const groupOf = ({ attributes, messageId }: SQSRecord): string => attributes.MessageGroupId ?? messageId;

/** Forwards records until one fails. Returns those that must be received again. */
async function forwardInOrder(
  records: readonly SQSRecord[],
  options: ForwarderOptions,
): Promise<SQSRecord[]> {
  for (const [index, record] of records.entries()) {
    const outcome = await forward(record, options);
    if (outcome.kind === "retry") {
      const failed = records.slice(index);
      const pauseSeconds = pauseOf(record, outcome.retryAfterSeconds);
      await Promise.all(failed.map((one) => pause(one, { queue: options.queue, pauseSeconds })));
      return failed;
    }
  }
  return [];
}

async function forward(record: SQSRecord, options: ForwarderOptions): Promise<Outcome> {
  try {
    const delivery = decodeDelivery(record.body);
    const outcome = await postDelivery(options.target, delivery);
    if (outcome.kind === "done") return outcome;
    const attempt = record.attributes.ApproximateReceiveCount;
    console.error(`Delivery ${delivery.id} was not accepted (attempt ${attempt}): ${outcome.reason}`);
    if (outcome.kind === "retry") return outcome;
    // The target will never accept this delivery. As a dead letter, it does not delay later ones.
    await options.deadLetters.send({
      body: record.body,
      group: groupOf(record),
      deduplicationId: delivery.id,
    });
    return { ...outcome, kind: "done" };
  } catch (error) {
    // An exception would cause records of the batch that are already forwarded to be received again.
    console.error(`Message ${record.messageId} could not be forwarded: ${String(error)}`);
    return { kind: "retry", reason: String(error), retryAfterSeconds: 0 };
  }
}

/** The pause doubles with each attempt, starting at one second. */
function pauseOf({ attributes }: SQSRecord, retryAfterSeconds: number): number {
  const attempts = Number(attributes.ApproximateReceiveCount);
  const backOffSeconds = Math.min(MAX_PAUSE_SECONDS, 2 ** (attempts - 1));
  return Math.max(backOffSeconds, Math.min(MAX_RETRY_AFTER_SECONDS, retryAfterSeconds));
}

async function pause(
  { receiptHandle }: SQSRecord,
  { queue, pauseSeconds }: { queue: Pick<Queue, "delay">; pauseSeconds: number },
): Promise<void> {
  try {
    await queue.delay(receiptHandle, pauseSeconds);
  } catch (error) {
    // The queue then delivers the record again after its own visibility timeout.
    console.error("Could not set the delay of a delivery:", String(error));
  }
}
