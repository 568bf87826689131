/**
 * The closed set of failures. `invalid_config`: an input is wrong. `unauthorized`: the service rejected the API key.
 * `conflict`: a different registration or bot is there. `handshake_failed`: the webhook URL did not answer the
 * handshake (section 6.1). `rejected`: the service rejected the request. `unavailable`: it could not be reached, or
 * reported a temporary failure. `timeout`: the time limit of the operation has passed. `protocol`: the response does
 * not follow the specification.
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
 * What was in progress when it failed: an action of section 4.1, a message of 4.2, the handshake of 6.1, the check of the
 * inputs, or a step with the process of a responder.
 */
export type ApiChatOperation =
  "get-webhook" | "set-webhook" | "delete-webhook" | "message" | "handshake" | "check" | "responder";

/** What to do next. `render.ts` has the words of each, for every audience. */
export type Hint =
  | { id: "give_api_key" } // who issues the API key, and where to give it
  | { id: "check_api_key" } // the service answers as if the API key were wrong
  | { id: "rotated_api_key" } // refresh and destroy use the API key of the last `up`, which may be rotated since
  | { id: "check_flow_api_key" } // the flow API key is another key, and its presentation is a guess
  | { id: "check_base_url" } // the address may not be that of the registration interface
  | { id: "forget_workspace" } // the workspace may no longer exist, but a state still has its webhook
  | { id: "check_connection"; address: "baseUrl" | "botUrl" } // nothing answers at an address
  | { id: "start_emulator"; address: "baseUrl" | "botUrl" } // nothing listens at an address of this machine
  | { id: "set_final_address"; address: "baseUrl" | "botUrl" } // a redirect is not followed
  | { id: "raise_request_seconds" }
  | { id: "raise_ready_seconds" }
  | { id: "run_again" }
  | { id: "read_bot_url" } // the bot URL may be an earlier one
  | { id: "message_not_sent" } // the service has not taken the message
  | { id: "message_may_be_taken" } // it is not known whether the service accepted the message
  | { id: "allow_replace" } // it is not known what is registered; `onExisting: "replace"` proceeds anyway
  | { id: "remove_other"; baseUrl: string; webhookUrl: string } // another webhook is registered: how to remove it. Query values are hidden
  | { id: "refresh_first" } // our webhook was changed by hand
  | { id: "other_workspace" } // the address and the API key reach a different workspace from before
  | { id: "set_api_key_or_forget" } // the same, for the deletion of a webhook
  | { id: "separate_workspaces" } // two resources of one program reach one workspace
  | { id: "name_workspace" } // the workspace on the command line differs from its bot URL's
  | { id: "delete_again" } // the service shows a webhook after delete-webhook
  | { id: "fix_endpoint" } // how to fix the endpoint: the hint of the transcript
  | { id: "free_port"; port: number } // another program uses the port of a responder
  | { id: "set_high_port" } // the port of a responder needs privileges
  | { id: "set_local_host" } // the host of a responder is not an address of this machine
  | { id: "own_data_dir" } // another responder has the data folder
  | { id: "restart_responder" } // a running responder keeps its address and its folder
  | { id: "end_process"; pid: number } // the process of a responder hangs, or is someone else's
  | { id: "warn_only"; unless: "private_address" | "unreachable" }; // this machine may see less of the endpoint than the service does

/** Facts about a failure for other parts of a program. It contains no secrets. */
export interface Facts {
  /** The address that was called: origin and path, query values hidden. */
  at?: string;
  /** The webhook URL that is registered there; query values hidden. */
  registered?: string;
  /** The bot code that was found, and the one that was expected. */
  bot?: string;
  expectedBot?: string;
  /** The code of a failed connection, such as ECONNREFUSED. */
  connection?: string;
}

/** One problem with an input. It contains no secret values. */
export interface FieldProblem {
  /** The field's name in a program, such as `webhookUrl`; empty if the problem concerns the whole input. */
  field: string;
  text: string;
}

/** A failure as data: what `ApiChatError.toJSON` returns, and what is passed between processes. */
export interface Failure {
  code: ApiChatErrorCode;
  operation: ApiChatOperation;
  /** The resource or workspace that it concerns. */
  subject?: string;
  /** What is wrong, in one line. */
  summary: string;
  /** For `invalid_config`: what is wrong with each field. */
  problems?: readonly FieldProblem[];
  /** Lines below the text. */
  details?: readonly string[];
  facts: Facts;
  hints: readonly Hint[];
  /** How many requests were sent; 0 if none was. */
  attempts: number;
  /** An attempt may have taken effect although its response does not say so. */
  mayHaveBeenAccepted?: boolean;
  /** The HTTP status of the last response, if there was one. */
  httpStatus?: number;
  /** The transcript of a failed handshake. */
  transcript?: HandshakeTranscript;
}

/**
 * What a handshake must satisfy and did not. The specification has two of these: the endpoint accepts the token, and the body is
 * the challenge (section 6.1). The others are assumptions of this package, such as a 2xx status and no redirect. Each
 * {@link HandshakeCause} belongs to one.
 */
export type HandshakeRule =
  | "private_address"
  | "unreachable"
  | "tls"
  | "no_answer"
  | "redirect"
  | "token_refused"
  | "status"
  | "wrong_challenge";

/** Why a handshake failed. */
export type HandshakeCause =
  // Nothing was sent.
  | "private_address"
  // No connection.
  | "name_not_resolved"
  | "connection_refused"
  | "connect_timeout"
  | "connection_failed"
  | "tls_self_signed"
  | "tls_untrusted"
  | "tls_wrong_host"
  | "tls_expired"
  | "tls_failed"
  // No complete response.
  | "closed_early"
  | "not_http"
  | "silent"
  | "answer_unfinished"
  // A status other than 2xx. For `token_refused` and `signature_demanded`, the response says so.
  | "redirect"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "server_error"
  | "other_status"
  | "token_refused"
  | "signature_demanded"
  // A body other than the challenge.
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

/** How the three parameters of a handshake may travel: section 6.1 does not say. */
export type HandshakeEncoding = "form" | "json" | "multipart" | "query";

/** One handshake, sent in one encoding, and its outcome. It contains no secrets. */
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
  /** The start of a wrong response's body, at most 200 bytes. */
  firstBytes?: string;
}

/** What was seen of a handshake. It contains no secrets. */
export interface HandshakeTranscript {
  /** Origin and path; query values are hidden. */
  url: string;
  /** The addresses to which the host name resolved. */
  addresses: string[];
  /** How many rounds were made. */
  rounds: number;
  /** The steps of the last round. */
  steps: HandshakeStep[];
  /** The broken rule; absent if the handshake passed. */
  rule?: HandshakeRule;
  /** Why it failed; absent if the handshake passed. */
  cause?: HandshakeCause;
  /** One line on how to fix it; absent if the handshake passed. */
  hint?: string;
}
