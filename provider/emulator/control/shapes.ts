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
import type { HttpMessage } from "../service/outgoing.js";

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
export interface HttpView extends HttpMessage {
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

/** The control API's error response. The HTTP status says what failed; the message says what to do. */
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
