import type { Hint } from "./hints.js";

/**
 * The closed set of failures. `invalid_config`: an input is wrong. `unauthorized`: the service rejected the
 * API key. `conflict`: an unexpected registration or bot was found. `handshake_failed`: the webhook URL did not
 * answer the handshake (section 6.1). `rejected`: the service rejected the request. `unavailable`: the service
 * could not be reached, or reported a temporary failure. `timeout`: the time limit of the operation has
 * passed. `protocol`: the response does not follow the specification.
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

/**
 * The operation that failed: an action of section 4.1, a message (4.2), the handshake (6.1), the check of the
 * inputs, or starting, reading or stopping a responder.
 */
export type ApiChatOperation =
  "get-webhook" | "set-webhook" | "delete-webhook" | "message" | "handshake" | "check" | "responder";

/** Facts about a failure, for programs to act on. They contain no secrets. */
export interface Facts {
  /** The address that was called: origin and path, query values hidden. */
  at?: string;
  /** The webhook URL that is registered there; query values hidden. */
  registered?: string;
  /** The bot code that was found there. */
  bot?: string;
  /** The bot code that was expected there. */
  expectedBot?: string;
  /** The code of a failed connection, such as ECONNREFUSED. */
  connection?: string;
}

/** One problem with an input. The text contains no secrets. */
export interface FieldProblem {
  /** The field's name in a program, such as `webhookUrl`; empty if the problem concerns the whole input. */
  field: string;
  /** What is wrong with the field. */
  text: string;
}

/** A failure as data: what `ApiChatError.toJSON` returns, and what is passed between processes. */
export interface Failure {
  /** The kind of failure. Programs should check this, not the text. */
  code: ApiChatErrorCode;
  /** What was in progress. */
  operation: ApiChatOperation;
  /** The resource or workspace that the failure is about. */
  subject?: string;
  /** What is wrong, in one line. */
  summary: string;
  /** For `invalid_config`: what is wrong with each field. */
  problems?: readonly FieldProblem[];
  /** Further lines, printed below the message. */
  details?: readonly string[];
  /** Addresses and codes; empty if there are none. */
  facts: Facts;
  /** What to do next; empty if there is no advice. */
  hints: readonly Hint[];
  /** How many requests were sent, or, for `handshake_failed`, how many rounds of handshakes; may be 0. */
  attempts: number;
  /** Whether an attempt may have taken effect, although no response confirmed it. */
  mayHaveTakenEffect?: boolean;
  /** The HTTP status of the last response, if there was one. */
  httpStatus?: number;
  /** The transcript of a failed handshake. */
  transcript?: HandshakeTranscript;
}

/**
 * Maps each cause of a failed handshake to the broken rule. The most informative causes come last: if several
 * encodings fail, the cause that comes last here is reported. A rejection says more than a 200 with some other
 * body, because many endpoints return such a 200 for an encoding that they do not understand.
 */
export const HANDSHAKE_RULES = {
  private_address: "private_address",
  name_not_resolved: "unreachable",
  connection_refused: "unreachable",
  connect_timeout: "unreachable",
  connection_failed: "unreachable",
  proxy_failed: "unreachable",
  closed_early: "unreachable",
  not_http: "unreachable",
  tls_self_signed: "tls",
  tls_untrusted: "tls",
  tls_wrong_host: "tls",
  tls_expired: "tls",
  tls_not_spoken: "tls",
  tls_failed: "tls",
  silent: "no_answer",
  answer_unfinished: "no_answer",
  redirect: "redirect",
  not_found: "status",
  method_not_allowed: "status",
  other_status: "status",
  server_error: "status",
  other_body: "wrong_challenge",
  empty_body: "wrong_challenge",
  unauthorized: "token_refused",
  forbidden: "token_refused",
  html_page: "wrong_challenge",
  // From here on, the response itself names the cause.
  token_refused: "token_refused",
  signature_demanded: "token_refused",
  body_echoed: "wrong_challenge",
  challenge_among_more: "wrong_challenge",
  challenge_as_number: "wrong_challenge",
  challenge_case_changed: "wrong_challenge",
  challenge_in_json: "wrong_challenge",
  challenge_in_quotes: "wrong_challenge",
  challenge_padded: "wrong_challenge",
} as const;

/** Why a handshake failed. */
export type HandshakeCause = keyof typeof HANDSHAKE_RULES;

/**
 * The rule that a handshake broke. Two of the rules are in the specification: the endpoint accepts the token, and the
 * body is the challenge (section 6.1). The others, such as a 2xx status and no redirect, are assumptions of this
 * package. Each {@link HandshakeCause} belongs to one rule.
 */
export type HandshakeRule = (typeof HANDSHAKE_RULES)[HandshakeCause];

/** How the three parameters of a handshake may be sent. Section 6.1 does not specify this. */
export type HandshakeEncoding = "form" | "json" | "multipart" | "query";

/** One handshake, sent in one encoding, and its outcome. It contains no secrets. */
export interface HandshakeStep {
  /** How the three parameters were sent. */
  encoding: HandshakeEncoding;
  /** How long it took, in milliseconds. */
  ms: number;
  /** The broken rule; absent if the handshake passed. */
  rule?: HandshakeRule;
  /** Why it failed; absent if the handshake passed. */
  cause?: HandshakeCause;
  /** The code of a failed connection, such as ECONNREFUSED; absent if there was a response. */
  connectError?: string;
  /** The HTTP status; absent if there was no response. */
  httpStatus?: number;
  /** The header `Content-Type` of the response, if it has one. */
  contentType?: string;
  /** Where a redirect points. */
  location?: string;
  /** The title, if the response is an HTML page; `firstBytes` is then absent. */
  title?: string;
  /** The start of a wrong response's body, at most 200 characters. */
  firstBytes?: string;
}

/** The record of a handshake. It contains no secrets. */
export interface HandshakeTranscript extends Pick<HandshakeStep, "rule" | "cause"> {
  /** Origin and path; query values are hidden. */
  url: string;
  /** The addresses to which the host name resolved. */
  addresses: string[];
  /** How many rounds of handshakes were made. */
  rounds: number;
  /** The steps of the last round. */
  steps: HandshakeStep[];
  /** One line on how to fix the endpoint; absent if the handshake passed. */
  hint?: string;
}
