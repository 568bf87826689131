/** A verified delivery on its way through the queue. */
export interface QueuedDelivery {
  /** Generated once, when the delivery is accepted; the target receives it in `x-apichat-delivery-id`. */
  id: string;
  /** The headers that are forwarded with the body. */
  headers: [name: string, value: string][];
  body: Uint8Array;
}

/** The largest message of SQS: 1 MiB, if the queue's `maxMessageSize` allows it. */
export const QUEUE_MESSAGE_BYTES = 1024 * 1024;

/** The largest body of a delivery: base64 needs a third more, and 90 KiB remain for the id and the headers. */
export const BODY_LIMIT_BYTES = 700 * 1024;

/** Writes a delivery as a message. The body is base64, because SQS rejects some characters. */
export function encodeDelivery({ id, headers, body }: QueuedDelivery): string {
  return JSON.stringify({ id, headers, body: Buffer.from(body).toString("base64") });
}

/** Reads what {@link encodeDelivery} has written. */
export function decodeDelivery(text: string): QueuedDelivery {
  const { id, headers, body } = JSON.parse(text) as Omit<QueuedDelivery, "body"> & { body: string };
  return { id, headers, body: Buffer.from(body, "base64") };
}
