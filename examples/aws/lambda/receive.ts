import { deriveVerificationKeys } from "pulumi-apichat/responder";
import { createKeyCache } from "./key-cache";
import { createReceiver } from "./receiver";
import { readEnvironment } from "./environment";
import { openQueue } from "./sqs";
import { readParameter } from "./ssm";

const environment = readEnvironment("QUEUE_URL", "KEYS_PARAMETER");

/** Answers the handshakes and deliveries of the service. */
export const handler = createReceiver({
  keys: createKeyCache(async () => {
    const { seed, subject, rotations } = JSON.parse(await readParameter(environment.KEYS_PARAMETER));
    return deriveVerificationKeys(seed, { subject, rotations });
  }),
  queue: openQueue(environment.QUEUE_URL),
});
