import type { InboundMessage, OutboundMessage, WebhookConfiguration } from "../../../schema/index.js";
import type { FlowFailure } from "../changes.js";
import type { FaultRule } from "../faults.js";
import type { HandshakeEncoding } from "../switches.js";

/**
 * The JSON of the control API, one shape for emulator, page and command line. Times are ISO 8601. Ids are texts that the
 * emulator gives; `order` counts all records of one emulator, so that they can be put in one line. Secrets (API keys,
 * verification keys, tokens, signatures, query values of URLs) are masked unless the request asks with `?reveal=true`.
 */

/** A workspace: `GET /_emulator/workspaces`, `GET /_emulator/workspaces/{name}`. */
export interface WorkspaceView {
  name: string;
  /** Address of the registration interface (section 4.1). */
  baseUrl: string;
  /** Where its messages go (section 4.2). */
  botUrl: string;
  botCode: string;
  flowNs: string;
  apiKey: string;
  flowApiKey: string;
  /** Whether the flow API key has the permission "Gerenciar Fluxo" (section 5). */
  mayManageFlow: boolean;
  /** What replies: a built-in flow, the name of a scenario, or `custom` for a function. */
  flow: string;
  /** What is registered; null if nothing is. */
  registration: WebhookConfiguration | null;
}

/** A conversation of one contact: `GET /_emulator/conversations?workspace=`, newest first. */
export interface ConversationView {
  id: string;
  workspace: string;
  /** `sender.id` of its messages. */
  contactId: string;
  /** `sender.name` of the last message that had one. */
  contactName: string;
  /** `conversation_id` of its messages, as digits: it may be beyond the safe integers. */
  conversationId: string;
  messageCount: number;
  lastAt: string;
}

/** A message of a conversation, as it was on the wire: `GET /_emulator/conversations/{id}/messages`, oldest first. */
export interface MessageView {
  id: string;
  order: number;
  at: string;
  workspace: string;
  /** The id of its conversation. */
  conversation: string;
  from: "contact" | "flow" | "agent";
  /** The body (section 2.3 or 2.4). A conversation id beyond the safe integers is a text here. */
  body: InboundMessage | OutboundMessage;
  /** The delivery of a reply; null for what the contact sent, and for a reply that no verified webhook was there for. */
  delivery: string | null;
}

/** A handshake that the emulator made: `GET /_emulator/handshakes?workspace=`, `GET /_emulator/handshakes/{id}`. */
export interface HandshakeView {
  id: string;
  order: number;
  at: string;
  workspace: string;
  url: string;
  encoding: HandshakeEncoding;
  verdict: "passed" | "failed";
  /** What was wrong; empty if it passed. */
  reason: string;
  /** The parameters as they were sent, the token masked. */
  sent: HttpView;
  received: HttpView | null;
  durationMs: number;
}

/** Headers and body of one direction. */
export interface HttpView {
  /** Of an answer. */
  status?: number;
  headers: Record<string, string>;
  body: string;
}

/** One try of a delivery. */
export interface AttemptView {
  at: string;
  durationMs: number;
  /** What the endpoint answered; null if there was no answer. */
  received: HttpView | null;
  /** What was wrong; empty if it was delivered. */
  reason: string;
  /** The injected fault that struck it, as JSON text; empty if none did. */
  fault: string;
}

/** A delivery: `GET /_emulator/deliveries?workspace=&conversation=`, `GET /_emulator/deliveries/{id}`. */
export interface DeliveryView {
  id: string;
  order: number;
  at: string;
  workspace: string;
  /** Null if it belongs to none, such as a message sent by a test. */
  conversation: string | null;
  url: string;
  sent: HttpView;
  /** Whether the signature header is the right one for the registered key: a fault can spoil it. */
  signature: "right" | "wrong";
  verdict: "pending" | "delivered" | "failed";
  reason: string;
  attempts: AttemptView[];
  /** The delivery whose bytes were sent again. */
  resendOf: string | null;
}

/** A request that the emulator received: `GET /_emulator/requests?workspace=`, `GET /_emulator/requests/{id}`. */
export interface RequestView {
  id: string;
  order: number;
  at: string;
  interface: "registration" | "bot";
  workspace: string | null;
  /** `get-webhook`, `set-webhook`, `delete-webhook`; `message` on `bot_url`; null if it is none of them. */
  operation: string | null;
  /** Of a message. */
  conversation: string | null;
  method: string;
  /** The whole address, query values masked. */
  url: string;
  sent: HttpView;
  /** Null while it is under way, and when the connection was closed without an answer. */
  received: HttpView | null;
  /** The injected fault that struck it, as JSON text; empty if none did. */
  fault: string;
  durationMs: number;
}

/** An injected fault: `GET /_emulator/faults`. Given to `POST /_emulator/faults` without `id`, `left`, `struck`. */
export interface FaultView extends FaultRule {
  id: string;
  /** How many calls it may still strike; null without end. */
  left: number | null;
  struck: number;
}

/** `GET /_emulator/health`. */
export interface HealthView {
  status: "ok";
  version: string;
  workspaces: number;
  /** Where the state is kept; null in memory. */
  data: string | null;
}

/** `GET /_emulator/settings`: how the open points of the specification are read, and the flows that can be chosen. */
export interface SettingsView {
  /** Every switch by its option's name. */
  switches: Record<string, string | number | boolean>;
  flows: string[];
}

/**
 * A message as a contact would send it: `POST /_emulator/workspaces/{name}/messages` posts it to `bot_url` for the page. A
 * refusal of `bot_url` (400 and above) is the status of this answer too.
 */
export interface ContactMessageAnswer {
  /** What `bot_url` answered. */
  status: number;
  body: unknown;
}

/**
 * `POST /_emulator/workspaces/{name}/replies` with an outbound message (section 2.4), of which `message_type`
 * and `private` may be left out: an agent answers by hand.
 */
export interface ReplyAnswer {
  message: MessageView;
  /** Null if no verified webhook is registered to deliver to. */
  delivery: DeliveryView | null;
}

/** What the control API answers in place of the asked: the status of HTTP, and a text that says what to do. */
export interface ControlError {
  error: { code: string; message: string };
}

/**
 * The live stream, `GET /_emulator/events` (server-sent events): `event` is the type, `data` this JSON, `id` counts. A record
 * that changes is sent again whole, under its id. After `reset` everything is to be read anew.
 */
export type EmulatorEvent =
  | { type: "workspace"; workspace: WorkspaceView }
  | { type: "workspace-removed"; name: string }
  | { type: "conversation"; conversation: ConversationView }
  | { type: "message"; message: MessageView }
  | { type: "handshake"; handshake: HandshakeView }
  | { type: "delivery"; delivery: DeliveryView }
  | { type: "flow-failed"; failure: FlowFailure }
  | { type: "request"; request: RequestView }
  | { type: "faults"; faults: FaultView[] }
  | { type: "reset" };

/**
 * All routes, for the tests that hold them against the table of the documentation. `PATCH` takes part of
 * { flow, apiKey, flowApiKey, mayManageFlow, botCode, botBaseUrl, owner }; `PUT registration` { webhook_url,
 * webhook_verification_key } is what somebody else registers, without a handshake; `DELETE registration` somebody else's
 * removal; `POST reset` takes { workspaces?: boolean }: true removes the workspaces too, which else stay with their keys and
 * registrations. Lists are arrays, the oldest first but for conversations, and hold the newest `limit` (1 to 10,000, default
 * 1000). `PATCH` and `PUT` answer with the WorkspaceView, `POST workspaces` and `POST faults` with what was made (201),
 * `resend` with the new DeliveryView (202), `DELETE` and `reset` with nothing (204). `resend` takes { sign?: boolean, body?:
 * string }: true signs with the key that is registered now, in place of the same signature; a body is sent in place of the same bytes.
 */
export const CONTROL_ROUTES = [
  "GET /_emulator/health",
  "GET /_emulator/settings",
  "GET /_emulator/events",
  "GET /_emulator/workspaces",
  "POST /_emulator/workspaces",
  "GET /_emulator/workspaces/{name}",
  "PATCH /_emulator/workspaces/{name}",
  "DELETE /_emulator/workspaces/{name}",
  "PUT /_emulator/workspaces/{name}/registration",
  "DELETE /_emulator/workspaces/{name}/registration",
  "POST /_emulator/workspaces/{name}/messages",
  "POST /_emulator/workspaces/{name}/replies",
  "GET /_emulator/conversations",
  "GET /_emulator/conversations/{id}/messages",
  "GET /_emulator/handshakes",
  "GET /_emulator/handshakes/{id}",
  "GET /_emulator/deliveries",
  "GET /_emulator/deliveries/{id}",
  "POST /_emulator/deliveries/{id}/resend",
  "GET /_emulator/requests",
  "GET /_emulator/requests/{id}",
  "GET /_emulator/faults",
  "POST /_emulator/faults",
  "DELETE /_emulator/faults",
  "DELETE /_emulator/faults/{id}",
  "POST /_emulator/reset",
] as const;
