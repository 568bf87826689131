import type { HandshakeTranscript } from "./handshake.js";

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
  /** Who issues the API key, and where to give it. */
  | { id: "give_api_key" }
  /** The service answers as if the API key were wrong. */
  | { id: "check_api_key" }
  /** Refresh and destroy use the API key of the last `up`, which may be rotated since. */
  | { id: "rotated_api_key" }
  /** The flow API key is another key, and its presentation is a guess. */
  | { id: "check_flow_api_key" }
  /** The address may not be that of the registration interface. */
  | { id: "check_base_url" }
  /** Nothing answers at an address. */
  | { id: "check_connection"; address: "baseUrl" | "botUrl" }
  /** A redirect is not followed. */
  | { id: "set_final_address"; address: "baseUrl" | "botUrl" }
  | { id: "raise_request_seconds" }
  | { id: "raise_ready_seconds" }
  | { id: "run_again" }
  /** The bot URL may be an earlier one. */
  | { id: "read_bot_url" }
  /** The service has not taken the message. */
  | { id: "message_not_sent" }
  /** Nobody knows whether the service has taken the message. */
  | { id: "message_may_be_taken" }
  /** Nobody knows what is registered; `onExisting: "replace"` goes on nevertheless. */
  | { id: "allow_replace" }
  /** Another webhook is registered: how to remove it. Query values are hidden. */
  | { id: "remove_other"; baseUrl: string; webhookUrl: string }
  /** Our webhook was changed by hand. */
  | { id: "refresh_first" }
  /** The address and the API key reach another workspace than before. */
  | { id: "other_workspace" }
  /** The same, where a webhook is to be deleted. */
  | { id: "set_api_key_or_forget" }
  /** Two resources of one program reach one workspace. */
  | { id: "separate_workspaces" }
  /** The command line names another workspace than its bot URL. */
  | { id: "name_workspace" }
  /** The service shows a webhook after delete-webhook. */
  | { id: "delete_again" }
  /** How to fix the endpoint: the hint of the transcript. */
  | { id: "fix_endpoint" }
  /** This machine may see less of the endpoint than the service does. */
  | { id: "warn_only"; unless: "private_address" | "unreachable" };

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
  /** The HTTP status of the last answer, where there was one. */
  httpStatus?: number;
  /** What was seen, of a failed handshake. */
  transcript?: HandshakeTranscript;
}
