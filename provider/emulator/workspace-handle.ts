import type { InboundMessage } from "../../schema/inbound.js";
import type { OutboundMessage } from "../../schema/outbound.js";
import type { WebhookConfiguration } from "../../schema/registration.js";
import { sendFromContact, type SentMessage } from "./contact.js";
import { deliverMessage } from "./deliveries/delivery.js";
import { parseOptions } from "./usage-errors.js";
import { registrationFields } from "./options.js";
import type {
  ConversationRecord,
  DeliveryRecord,
  EmulatorState,
  HandshakeRecord,
  RegisteredWebhook,
  WorkspaceState,
} from "./state.js";
import {
  baseUrlOf,
  botUrlOf,
  changeWorkspace,
  readConfiguration,
  takeOver,
  type WorkspaceChange,
} from "./workspaces.js";

/** The properties that a handle reads from the workspace's state at each access. */
const SHOWN = ["name", "apiKey", "flowApiKey", "mayManageFlow", "flow", "botCode", "flowNs"] as const;

/** A workspace of the emulator, for tests. */
export interface Workspace extends Readonly<Pick<WorkspaceState, (typeof SHOWN)[number]>> {
  /** The address of its registration interface (section 4.1), including `baseUrlQuery` if that is set. */
  readonly baseUrl: string;
  /** The address of its bot (section 4.2), even while nothing is registered. */
  readonly botUrl: string;
  /** The registered webhook, with the unmasked key and the URL as it was set; undefined if there is none. */
  readonly registration: WebhookConfiguration | undefined;
  /** Its handshakes, oldest first. */
  readonly handshakes: readonly HandshakeRecord[];
  /** Its deliveries, oldest first. */
  readonly deliveries: readonly DeliveryRecord[];
  /** Its conversations, in the order in which they began, each with its messages in both directions. */
  readonly conversations: readonly ConversationRecord[];
  /**
   * Posts a message to `botUrl` with the flow API key, as the external system does for a contact (section
   * 4.2), and returns the response, whatever its status. Throws `unavailable` if there is no response.
   */
  send(message: InboundMessage): Promise<SentMessage>;
  /**
   * Changes fields of the workspace, or of its registration (without a handshake). Throws `invalid_config` if
   * a value is wrong, or if there is no registration to change.
   */
  change(change: WorkspaceChange): void;
  /** Registers somebody else's endpoint as `verified`, without a handshake. */
  takeOver(registration: Pick<RegisteredWebhook, "webhook_url" | "webhook_verification_key">): void;
  /** Removes the registration as somebody else would. get-webhook then returns four empty fields. */
  removeRegistration(): void;
  /**
   * Signs a message with the registered key and posts it to the registered URL (section 6.2), after the earlier
   * deliveries of its conversation. The message is recorded as a reply of the flow. Resolves with the delivery
   * after its last attempt (`deliveryAttempts`). Throws `invalid_config` if nothing is registered or, with
   * `deliveryWhile: "verified"`, if its status is not `verified`.
   */
  deliver(message: OutboundMessage): Promise<DeliveryRecord>;
}

/** Creates the handle of a workspace. The handle itself stores no state. */
export function createWorkspaceHandle(emulator: EmulatorState, state: WorkspaceState): Workspace {
  const handle: Omit<Workspace, (typeof SHOWN)[number]> = {
    baseUrl: baseUrlOf(emulator, state),
    handshakes: state.handshakes,
    deliveries: state.deliveries,
    get botUrl() {
      return botUrlOf(state);
    },
    get registration() {
      return readConfiguration(state) ?? undefined;
    },
    get conversations() {
      return [...state.conversations.values()].toSorted((a, b) => a.order - b.order);
    },
    send: (message) => sendFromContact(emulator, state, message),
    change: (change) => changeWorkspace(emulator, state, change),
    takeOver: (given) => takeOver(emulator, state, parseOptions("takeOver", registrationFields, given)),
    removeRegistration: () => takeOver(emulator, state, null),
    deliver: (message) => deliverMessage(emulator, state, message),
  };
  for (const name of SHOWN) {
    Object.defineProperty(handle, name, { enumerable: true, get: () => state[name] });
  }
  return handle as Workspace;
}
