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

/** The rule of section 6.1 that an answer to a handshake broke. */
export type HandshakeRule =
  | "private_address"
  | "unreachable"
  | "tls"
  | "no_answer"
  | "redirect"
  | "token_refused"
  | "status"
  | "wrong_challenge";

/** One handshake, sent in one encoding, and what came of it. No secret is in it. */
export interface HandshakeStep {
  encoding: "form" | "json" | "query";
  /** How long it took, in milliseconds. */
  ms: number;
  /** The broken rule; absent if the handshake passed. */
  rule?: HandshakeRule;
  connectError?: string;
  httpStatus?: number;
  contentType?: string;
  /** Where a redirect points. */
  location?: string;
  /** The start of a wrong answer's body. */
  firstBytes?: string;
}

/** What was seen of a failed handshake. */
export interface HandshakeTranscript {
  /** Origin and path; query values are hidden. */
  url: string;
  /** The addresses to which the host name resolved. */
  addresses: string[];
  /** How many rounds were made. */
  rounds: number;
  /** The steps of the last round. */
  steps: HandshakeStep[];
  rule: HandshakeRule;
  /** One line on how to mend it. */
  mend: string;
}

export interface ApiChatErrorDetails {
  operation: ApiChatOperation;
  /** The HTTP status of the last answer, where there was one. */
  httpStatus?: number;
  /** How many requests were sent; 0 if none was. */
  attempts?: number;
  /** What was seen, of a failed handshake. */
  transcript?: HandshakeTranscript;
  cause?: unknown;
}

/** Every failure that this package reports on purpose. Compare `code`, not the text; no secret is in either. */
export class ApiChatError extends Error {
  override readonly name = "ApiChatError";
  readonly code: ApiChatErrorCode;
  readonly operation: ApiChatOperation;
  declare readonly httpStatus?: number;
  readonly attempts: number;
  declare readonly transcript?: HandshakeTranscript;

  constructor(code: ApiChatErrorCode, message: string, details: ApiChatErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.operation = details.operation;
    this.attempts = details.attempts ?? 0;
    if (details.httpStatus !== undefined) this.httpStatus = details.httpStatus;
    if (details.transcript !== undefined) this.transcript = details.transcript;
  }
}
