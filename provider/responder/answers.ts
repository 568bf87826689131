/** The error codes of a responder, each with its HTTP status. */
export const STATUS_BY_CODE = {
  /** All three handshake parameters are present, but the challenge is not safe to echo. */
  invalid_challenge: 400,
  /** The delivery is signed, but it is not JSON. */
  invalid_json: 400,
  /** The connection broke before the body was complete. */
  body_incomplete: 400,
  /** The handshake's token is not one of the verification keys. */
  invalid_token: 401,
  /** The signature is missing, malformed, or made with a different key. */
  invalid_signature: 401,
  /** The request is for a different path. */
  not_found: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  /** The body is compressed. */
  unsupported_media_type: 415,
  /** Something else read the body before the responder. */
  body_consumed: 500,
  /** The program's own function for the keys failed. */
  keys_unavailable: 500,
  /** The program's own handler threw an error. */
  handler_failed: 500,
  /** The program's own handler cannot accept the delivery now: it threw an UnavailableError. */
  unavailable: 503,
} as const;

/** The values of `error.code` in a response. */
export type ResponderErrorCode = keyof typeof STATUS_BY_CODE;

/** The response to send. If `body` is empty, the response has none. */
export interface Answer {
  /** The HTTP status. */
  status: number;
  /** The headers, with names in lower case. */
  headers: Record<string, string>;
  /** The text of the body. */
  body: string;
  /**
   * The error that the body of an error response reports.
   * @internal
   */
  error?: { code: ResponderErrorCode; message: string };
}

const NO_SNIFFING = { "x-content-type-options": "nosniff" };

/** Creates a response with the body `{ "error": { "code", "message" } }` and the code's status. */
export function answerError(
  code: ResponderErrorCode,
  message: string,
  headers: Record<string, string> = {},
): Answer {
  const error = { code, message };
  return {
    status: STATUS_BY_CODE[code],
    headers: { "content-type": "application/json", ...NO_SNIFFING, ...headers },
    body: JSON.stringify({ error }),
    error,
  };
}

/** Answers a handshake with its challenge, in a form that browsers do not render. */
export function answerChallenge(challenge: string): Answer {
  return {
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8", ...NO_SNIFFING },
    body: challenge,
  };
}

/**
 * Thrown by `onDelivery` if a delivery cannot be accepted now, for example because a queue or a disk is full.
 * Results in 503 with `Retry-After`. The error is not logged, and its message is not shown to the sender.
 */
export class UnavailableError extends Error {
  /** Always `UnavailableError`. */
  override readonly name = "UnavailableError";
  /** The value of `Retry-After`, in seconds. Default 5. */
  readonly retryAfterSeconds: number;

  constructor(
    message = "the delivery cannot be accepted now",
    options: {
      /** The value of `Retry-After`, in seconds. Default 5. */
      retryAfterSeconds?: number;
      /** The error that caused this one. */
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterSeconds = options.retryAfterSeconds ?? 5;
  }
}

export function answerUnavailable({ retryAfterSeconds }: UnavailableError): Answer {
  const headers = { "retry-after": String(Math.max(0, Math.ceil(retryAfterSeconds))) };
  return answerError("unavailable", "the delivery is valid, but cannot be accepted now", headers);
}
