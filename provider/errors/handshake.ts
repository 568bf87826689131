/** The rule of section 6.1 that an answer to a handshake broke. Each {@link HandshakeCause} belongs to one. */
export type HandshakeRule =
  | "private_address"
  | "unreachable"
  | "tls"
  | "no_answer"
  | "redirect"
  | "token_refused"
  | "status"
  | "wrong_challenge";

/**
 * Why a handshake failed. Nothing was sent: `private_address`. No connection: `name_not_resolved`, `connection_refused`,
 * `connect_timeout`, `connection_failed`, `tls_self_signed`, `tls_untrusted`, `tls_wrong_host`, `tls_expired`, `tls_failed`.
 * No answer: `closed_early`, `not_http`, `silent`, `answer_unfinished`. Another status than 2xx: `redirect`, `unauthorized`
 * (401), `forbidden` (403), `not_found` (404), `method_not_allowed` (405), `server_error` (5xx), `other_status`; and of those
 * `token_refused` and `signature_demanded` where the answer says so. Another body than the challenge: all others.
 */
export type HandshakeCause =
  | "private_address"
  | "name_not_resolved"
  | "connection_refused"
  | "connect_timeout"
  | "connection_failed"
  | "tls_self_signed"
  | "tls_untrusted"
  | "tls_wrong_host"
  | "tls_expired"
  | "tls_failed"
  | "closed_early"
  | "not_http"
  | "silent"
  | "answer_unfinished"
  | "redirect"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "server_error"
  | "other_status"
  | "token_refused"
  | "signature_demanded"
  | "empty_body"
  | "html_page"
  | "body_echoed"
  | "other_body"
  | "challenge_among_more"
  | "challenge_as_number"
  | "challenge_case_changed"
  | "challenge_in_json"
  | "challenge_in_quotes"
  | "challenge_padded";

/** How the three parameters of section 6.1 may travel: the specification does not say. */
export type HandshakeEncoding = "form" | "json" | "multipart" | "query";

/** One handshake, sent in one encoding, and what came of it. No secret is in it. */
export interface HandshakeStep {
  encoding: HandshakeEncoding;
  /** How long it took, in milliseconds. */
  ms: number;
  /** The broken rule; absent if the handshake passed. */
  rule?: HandshakeRule;
  /** Why it failed; absent if the handshake passed. */
  cause?: HandshakeCause;
  connectError?: string;
  httpStatus?: number;
  contentType?: string;
  /** Where a redirect points. */
  location?: string;
  /** The title of an HTML page, in place of its first bytes. */
  title?: string;
  /** The start of a wrong answer's body, at most 200 bytes. */
  firstBytes?: string;
}

/** What was seen of a handshake, whether it passed or not. No secret is in it. */
export interface HandshakeRecord {
  /** Origin and path; query values are hidden. */
  url: string;
  /** The addresses to which the host name resolved. */
  addresses: string[];
  /** How many rounds were made. */
  rounds: number;
  /** The steps of the last round. */
  steps: HandshakeStep[];
}

/** What was seen of a failed handshake. */
export interface HandshakeTranscript extends HandshakeRecord {
  rule: HandshakeRule;
  cause: HandshakeCause;
  /** One line on how to fix it. */
  hint: string;
}
