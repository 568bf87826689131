import { readEnvironment } from "./environment";
import { createForwarder } from "./forwarder";
import { openQueue } from "./sqs";

const environment = readEnvironment("FORWARD_TO", "QUEUE_URL", "DEAD_LETTER_QUEUE_URL");

/** Forwards deliveries from the queue to their target. */
export const handler = createForwarder({
  target: environment.FORWARD_TO,
  queue: openQueue(environment.QUEUE_URL),
  deadLetters: openQueue(environment.DEAD_LETTER_QUEUE_URL),
});
