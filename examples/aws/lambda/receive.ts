import { createKeyCache } from "./key-cache";
import { createReceiver } from "./receiver";
import { readEnvironment } from "./environment";
import { openQueue } from "./sqs";
import { readParameter } from "./ssm";

const environment = readEnvironment("QUEUE_URL", "KEYS_PARAMETER");

/** Answers the service: handshakes and deliveries. */
export const handler = createReceiver({
  keys: createKeyCache(async () => JSON.parse(await readParameter(environment.KEYS_PARAMETER))),
  queue: openQueue(environment.QUEUE_URL),
});
