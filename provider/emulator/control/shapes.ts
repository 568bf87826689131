import type { WebhookConfiguration } from "../../../schema/registration.js";
import type { FaultView } from "../faults.js";
import type {
  ConversationRecord,
  DeliveryRecord,
  FlowFailure,
  HandshakeRecord,
  MessageRecord,
  RecordedRequest,
} from "../state.js";
import type { HttpPart } from "../service/outgoing.js";

export type { FaultView } from "../faults.js";

/**
 * The JSON of the control API, one shape for emulator, page and command line: a record as it is held. Secrets (API keys,
 * verification keys, tokens, signatures, query values of URLs) are masked unless the request asks with `?reveal=true`.
 */

/** A request that the emulator received: `GET /_emulator/requests?workspace=`, `GET /_emulator/requests/{id}`. */
export type RequestView = RecordedRequest;

/** A message of a conversation: `GET /_emulator/conversations/{id}/messages`, oldest first. */
export type MessageView = MessageRecord;

/** A handshake that the emulator made: `GET /_emulator/handshakes?workspace=`, `GET /_emulator/handshakes/{id}`. */
export type HandshakeView = HandshakeRecord;

/** A delivery: `GET /_emulator/deliveries?workspace=&conversation=`, `GET /_emulator/deliveries/{id}`. */
export type DeliveryView = DeliveryRecord;

/** One try of a delivery. */
export type AttemptView = DeliveryRecord["attempts"][number];

/** Headers and body of one direction; the status is that of an answer. */
export interface HttpView extends HttpPart {
  status?: number;
}

/** A conversation of one contact: `GET /_emulator/conversations?workspace=`, newest first. */
export interface ConversationView extends Omit<ConversationRecord, "messages"> {
  messageCount: number;
}

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
 * that changes is sent again whole, under its id. After `reset` everything is to be read again.
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
