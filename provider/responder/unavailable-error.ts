/** How long a sender is asked to wait by default, in seconds. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Thrown by `onDelivery` when a delivery cannot be taken now, because a queue or a disk is full: the answer is 503 with
 * `Retry-After`, and nothing is reported. The message is not shown to the sender.
 */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
  /** What `Retry-After` says, in seconds. Default 5. */
  readonly retryAfterSeconds: number;

  constructor(
    message = "the delivery cannot be taken now",
    options: { retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterSeconds = options.retryAfterSeconds ?? RETRY_AFTER_SECONDS;
  }
}
