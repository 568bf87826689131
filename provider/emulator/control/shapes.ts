import type { WebhookConfiguration } from "../../../schema/registration.js";
import type { FaultView } from "../faults.js";
import type {
  ConversationRecord,
  DeliveryRecord,
  FlowFailure,
  HandshakeRecord,
  MessageRecord,
  RecordedRequest,
  WorkspaceRecord,
} from "../state.js";
import type { HttpMessage } from "../service/outgoing.js";

export type { FaultView } from "../faults.js";

/*
 * The JSON of the control API, for emulator, page and command line. Secrets (API keys, verification keys, tokens, signatures,
 * query values of URLs) are masked without `?reveal=true`.
 */

/** A request that the emulator received: `GET /_emulator/requests?workspace=`, `GET /_emulator/requests/{id}`. */
export type RequestView = RecordedRequest;

/** A message of a conversation: `GET /_emulator/conversations/{id}/messages`, oldest first. */
export type MessageView = MessageRecord;

/** A handshake: `GET /_emulator/handshakes?workspace=`, `GET /_emulator/handshakes/{id}`. */
export type HandshakeView = HandshakeRecord;

/** A delivery: `GET /_emulator/deliveries?workspace=&conversation=`, `GET /_emulator/deliveries/{id}`. */
export type DeliveryView = DeliveryRecord;

/** One attempt of a delivery. */
export type AttemptView = DeliveryRecord["attempts"][number];

/** Headers and body of one direction, and the status of a response. */
export interface HttpView extends HttpMessage {
  status?: number;
}

/** A conversation: `GET /_emulator/conversations?workspace=`, newest first. */
export interface ConversationView extends Omit<ConversationRecord, "messages"> {
  messageCount: number;
}

/** A workspace: `GET /_emulator/workspaces`, `GET /_emulator/workspaces/{name}`. */
export interface WorkspaceView extends Pick<
  WorkspaceRecord,
  "name" | "botCode" | "flowNs" | "apiKey" | "flowApiKey" | "mayManageFlow" | "flow"
> {
  /** Address of the registration interface (section 4.1). */
  baseUrl: string;
  /** Address of its bot (section 4.2). */
  botUrl: string;
  /** The registered webhook; null if there is none. */
  registration: WebhookConfiguration | null;
}

/** `GET /_emulator/health`. */
export interface HealthView {
  status: "ok";
  version: string;
  workspaces: number;
  /** The file of the state; null in memory. */
  data: string | null;
}

/** `GET /_emulator/settings`: the readings of the specification's open points, and the available flows. */
export interface SettingsView {
  /** Every switch by the name of its option. */
  switches: Record<string, string | number | boolean>;
  flows: string[];
}

/**
 * The response of `bot_url` to a contact's message: `POST /_emulator/workspaces/{name}/messages`. A status of 400 and above is
 * also the status of this response.
 */
export interface ContactMessageAnswer {
  status: number;
  body: unknown;
}

/**
 * `POST /_emulator/workspaces/{name}/replies` with an agent's reply: an outbound message (section 2.4), with `message_type` and
 * `private` optional.
 */
export interface ReplyAnswer {
  message: MessageView;
  /** Null if no webhook accepts deliveries. */
  delivery: DeliveryView | null;
}

/** The control API's error response. */
export interface ControlError {
  error: { code: string; message: string };
}

/**
 * The live stream, `GET /_emulator/events` (server-sent events): `event` is the type, `data` this JSON, `id` counts. A changed
 * record is sent again, complete. After `reset` everything must be read again.
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
