import { randomUUID } from "node:crypto";
import {
  createResponder,
  endToEndHeaders,
  UnavailableError,
  type Delivery,
  type RequestHead,
} from "pulumi-apichat/responder";
import { toLambdaHandler, type LambdaHandler } from "pulumi-apichat/responder/lambda";
import type { KeyCache } from "./key-cache";
import { BODY_LIMIT_BYTES, encodeDelivery } from "./queued-delivery";
import type { Queue, QueueMessage } from "./sqs";

export interface ReceiverOptions {
  keys: KeyCache;
  queue: Pick<Queue, "send">;
}

/**
 * Creates the handler of the webhook URL. A delivery is acknowledged with 200 once it is in the queue; if the queue
 * does not accept it, the response is 503.
 */
export function createReceiver({ keys, queue }: ReceiverOptions): LambdaHandler {
  const answer = toLambdaHandler(
    createResponder({
      verificationKeys: () => keys.current(),
      bodyLimitBytes: BODY_LIMIT_BYTES,
      onDelivery: async (delivery, { request }) => {
        try {
          await queue.send(toQueueMessage(delivery, request));
        } catch (error) {
          console.error("The queue did not accept a delivery:", String(error));
          throw new UnavailableError("the queue did not accept it", { cause: error });
        }
      },
    }),
  );
  return async (event) => {
    const result = await answer(event);
    // During a rotation, the key of a request may be newer than the cached keys, so read them again.
    return result.statusCode === 401 && (await keys.renew()) ? answer(event) : result;
  };
}

function toQueueMessage(delivery: Delivery, request: RequestHead): QueueMessage {
  const id = randomUUID();
  return {
    body: encodeDelivery({ id, headers: headersToForward(request), body: delivery.rawBody }),
    group: conversationOf(delivery.message) ?? id,
    deduplicationId: id,
  };
}

/** Omits what AWS adds to a request: a trace id, and the sender's TLS version. */
const headersToForward = (request: RequestHead): [name: string, value: string][] =>
  endToEndHeaders(request.headers()).filter(([name]) => !/^x-amzn-/i.test(name));

/**
 * The conversation's ID, as the name of a message group. Undefined for a message without a conversation, which does
 * not wait for others.
 */
function conversationOf(message: unknown): string | undefined {
  const { conv_id: id } = (message ?? {}) as { conv_id?: unknown };
  if (typeof id === "number" || typeof id === "bigint") return String(id);
  return typeof id === "string" && /^[\w.:-]{1,128}$/.test(id) ? id : undefined;
}
