import type { HandshakeEncoding } from "../lib/handshake-encoding.js";

/**
 * The closed set of failures. `invalid_config`: an input is wrong. `unauthorized`: the service refused the API key.
 * `conflict`: another registration or another bot is there. `handshake_failed`: the webhook URL did not answer the
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
  | { id: "message_may_be_taken" } // nobody knows whether the service has taken the message
  | { id: "allow_replace" } // nobody knows what is registered; `onExisting: "replace"` goes on nevertheless
  | { id: "remove_other"; baseUrl: string; webhookUrl: string } // another webhook is registered: how to remove it. Query values are hidden
  | { id: "refresh_first" } // our webhook was changed by hand
  | { id: "other_workspace" } // the address and the API key reach another workspace than before
  | { id: "set_api_key_or_forget" } // the same, where a webhook is to be deleted
  | { id: "separate_workspaces" } // two resources of one program reach one workspace
  | { id: "name_workspace" } // the command line names another workspace than its bot URL
  | { id: "delete_again" } // the service shows a webhook after delete-webhook
  | { id: "fix_endpoint" } // how to fix the endpoint: the hint of the transcript
  | { id: "free_port"; port: number } // another program has the port of a responder
  | { id: "set_high_port" } // the port of a responder needs privileges
  | { id: "set_local_host" } // the host of a responder is no address of this machine
  | { id: "own_data_dir" } // another responder has the data folder
  | { id: "restart_responder" } // a running responder keeps its address and its folder
  | { id: "end_process"; pid: number } // the process of a responder hangs, or is somebody else's
  | { id: "warn_only"; unless: "private_address" | "unreachable" }; // this machine may see less of the endpoint than the service does

/** What another part of a program must know of a failure. No secret is in it. */
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

/** One thing that is wrong with what was given. No value of a secret is in it. */
export interface FieldProblem {
  /** The name in a program, such as `webhookUrl`; empty where the whole is wrong. */
  field: string;
  text: string;
}

/** A failure as data: what `ApiChatError.toJSON` gives, and what crosses the border of a process. */
export interface Failure {
  code: ApiChatErrorCode;
  operation: ApiChatOperation;
  /** The resource or workspace that it concerns. */
  subject?: string;
  /** What is wrong, in one line. */
  summary: string;
  /** Of `invalid_config`: what is wrong with each field. */
  problems?: readonly FieldProblem[];
  /** Lines below the text. */
  details?: readonly string[];
  facts: Facts;
  hints: readonly Hint[];
  /** How many requests were sent; 0 if none was. */
  attempts: number;
  /** An attempt may have taken effect although its response does not say so. */
  mayBeTaken?: boolean;
  /** The HTTP status of the last answer, where there was one. */
  httpStatus?: number;
  /** What was seen, of a failed handshake. */
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
  // No whole answer.
  | "closed_early"
  | "not_http"
  | "silent"
  | "answer_unfinished"
  // Another status than 2xx. `token_refused` and `signature_demanded` are those of which the answer says so.
  | "redirect"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "server_error"
  | "other_status"
  | "token_refused"
  | "signature_demanded"
  // Another body than the challenge.
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
