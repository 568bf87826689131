/**
 * The closed set of failures. `invalid_config`: an input is wrong. `unauthorized`: the service refused the API key.
 * `conflict`: another registration or another bot stands there. `handshake_failed`: the webhook URL did not answer the
 * handshake (section 6.1). `rejected`: the service said no. `unavailable`: it could not be reached, or had no time.
 * `timeout`: the time limit of the operation has passed. `protocol`: the answer is not one of the specification.
 */
export type ApiChatErrorCode =
  | "invalid_config"
  | "unauthorized"
  | "conflict"
  | "handshake_failed"
  | "rejected"
  | "unavailable"
  | "timeout"
  | "protocol";

/** What was under way when it failed: an action of section 4.1, the handshake of 6.1, or the check of the inputs. */
export type ApiChatOperation = "get-webhook" | "set-webhook" | "delete-webhook" | "handshake" | "check";

export interface ApiChatErrorDetails {
  operation: ApiChatOperation;
  /** The HTTP status of the last answer, where there was one. */
  httpStatus?: number;
  /** How many requests were sent; 0 if none was. */
  attempts?: number;
  cause?: unknown;
}

/** Every failure that this package reports on purpose. Compare `code`, not the text; no secret is in either. */
export class ApiChatError extends Error {
  override readonly name = "ApiChatError";
  readonly code: ApiChatErrorCode;
  readonly operation: ApiChatOperation;
  readonly httpStatus?: number;
  readonly attempts: number;

  constructor(code: ApiChatErrorCode, message: string, details: ApiChatErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.operation = details.operation;
    this.attempts = details.attempts ?? 0;
    if (details.httpStatus !== undefined) this.httpStatus = details.httpStatus;
  }
}
