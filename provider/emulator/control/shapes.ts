import type { WebhookConfiguration } from "../../../schema/registration.js";
import type { SwitchSettings } from "../open-point-options.js";
import type { Change, ConversationRecord, DeliveryRecord, MessageRecord, WorkspaceState } from "../state.js";

/*
 * The JSON of the control API, for the emulator, the page and the command line: the records of state.ts, the
 * rules of faults.ts, and the shapes below. Secrets (API keys, verification keys, tokens, signatures, query
 * values of URLs) are masked unless the request has `?reveal=true`.
 */

/** A conversation: `GET /_emulator/conversations?workspace=`, newest first. */
export interface ConversationView extends Omit<ConversationRecord, "messages"> {
  /** How many of its messages are kept. */
  messageCount: number;
}

/** A workspace: `GET /_emulator/workspaces`, `GET /_emulator/workspaces/{name}`. */
export interface WorkspaceView extends Pick<
  WorkspaceState,
  "name" | "botCode" | "flowNs" | "apiKey" | "flowApiKey" | "mayManageFlow"
> {
  /** The name of the flow that replies; `custom` for a function. */
  flow: string;
  /** The flows that can be chosen, including `custom` if a function was set in code. */
  flows: string[];
  /** Address of the registration interface (section 4.1). */
  baseUrl: string;
  /** Address of the workspace's bot (section 4.2). */
  botUrl: string;
  /** The registered webhook; null if there is none. */
  registration: WebhookConfiguration | null;
}

/** `GET /_emulator/health`. */
export interface HealthView {
  /** Always `ok`. */
  status: "ok";
  /** The version of this package. */
  version: string;
}

/** `GET /_emulator/settings`: how this emulator reads the open points of the specification. */
export interface SettingsView {
  /** The value of every switch, keyed as in the options of `startEmulator`. */
  switches: SwitchSettings;
}

/**
 * The response to `POST /_emulator/workspaces/{name}/replies`. The body of the request is an agent's reply: an
 * outbound message (section 2.4), in which `message_type` and `private` are optional.
 */
export interface ReplyAnswer {
  /** The agent's message. */
  message: MessageRecord;
  /** Null if no webhook accepts deliveries. */
  delivery: DeliveryRecord | null;
}

/** The control API's error response. */
export interface ControlError {
  /** What was wrong with the request, as text for people. Programs should use the HTTP status. */
  error: {
    /** One line for people. */
    message: string;
  };
}

/**
 * The `data` of each event of the live stream, `GET /_emulator/events` (server-sent events). A changed record is sent
 * again in full. After `reset`, a client must read everything again.
 */
export type EmulatorEvent = Change<WorkspaceView, ConversationView>;
