import type { InboundMessage } from "../../schema/inbound.js";
import type { OutboundMessage } from "../../schema/outbound.js";
import type { WebhookConfiguration } from "../../schema/registration.js";
import { deliverMessage, type DeliveryOptions } from "./deliveries/delivery.js";
import { parseOptions } from "./errors.js";
import { registrationFields } from "./options.js";
import { sendAsContact, type SentMessage } from "./service/messages.js";
import type {
  ConversationRecord,
  DeliveryRecord,
  EmulatorState,
  HandshakeRecord,
  Registration,
  WorkspaceState,
} from "./state.js";
import {
  baseUrlOf,
  botUrlOf,
  changeWorkspace,
  publishWorkspace,
  readConfiguration,
  register,
  unregister,
  type WorkspaceChange,
} from "./workspaces.js";

/** A workspace of the emulator, for tests: what it holds, what it did, and how to change it behind a client's back. */
export interface Workspace {
  readonly name: string;
  /** What requests must hold in `ChaveApi`. Assign another to rotate it. */
  apiKey: string;
  /** The address of its registration interface (section 4.1), with its own query if it has one. */
  readonly baseUrl: string;
  readonly botCode: string;
  /** Where its messages go (section 4.2), also while nothing is registered. */
  readonly botUrl: string;
  /** The namespace of its flow: the header `x-flow-ns` of deliveries. */
  readonly flowNs: string;
  /** What messages to `botUrl` must be sent with (section 5). Assign another to rotate it. */
  flowApiKey: string;
  /** Whether the flow API key has the permission "Gerenciar Fluxo" (section 5). */
  mayManageFlow: boolean;
  /** The name of what replies. Throws `invalid_config` when assigned a name that the emulator has no flow of. */
  flow: string;
  /** What is registered, with the key in clear and the URL as it was set; undefined if nothing is. */
  readonly registration: WebhookConfiguration | undefined;
  /** The handshakes made for it, oldest first. */
  readonly handshakes: readonly HandshakeRecord[];
  /** The deliveries made for it, oldest first. */
  readonly deliveries: readonly DeliveryRecord[];
  /** Its conversations with their messages in both directions, in the order in which they began. */
  readonly conversations: readonly ConversationRecord[];
  /**
   * Posts a message to `botUrl` with the flow API key, as the external system does for a contact (section 4.2), and gives
   * the answer, also a refusal. Throws `unavailable` if there is none.
   */
  send(message: InboundMessage): Promise<SentMessage>;
  /** Changes the registration or the bot without a handshake. Throws `invalid_config` if nothing is registered to change. */
  change(change: WorkspaceChange): void;
  /** Somebody else registers an endpoint of its own: `verified`, without a handshake. */
  takeOver(registration: Pick<Registration, "webhook_url" | "webhook_verification_key">): void;
  /** Somebody else removes the registration: all four fields are empty, as after delete-webhook. */
  removeRegistration(): void;
  /**
   * Signs a message with the registered key and posts it to the registered URL (section 6.2), after the other deliveries of its
   * conversation. It is recorded there as a reply of the flow. Resolves with the endpoint's response after the last attempt
   * (`deliveryAttempts`). Throws `invalid_config` if no webhook accepts deliveries (`deliveryWhile`).
   */
  deliver(message: OutboundMessage, options?: DeliveryOptions): Promise<DeliveryRecord>;
}

/** The handle of a workspace. It holds nothing itself: all is in the state. */
export function createWorkspaceHandle(emulator: EmulatorState, state: WorkspaceState): Workspace {
  return {
    name: state.name,
    flowNs: state.flowNs,
    baseUrl: baseUrlOf(emulator, state),
    get handshakes() {
      return state.handshakes;
    },
    get deliveries() {
      return state.deliveries;
    },
    get apiKey() {
      return state.apiKey;
    },
    set apiKey(apiKey: string) {
      changeWorkspace(emulator, state, { apiKey });
    },
    get flowApiKey() {
      return state.flowApiKey;
    },
    set flowApiKey(flowApiKey: string) {
      changeWorkspace(emulator, state, { flowApiKey });
    },
    get mayManageFlow() {
      return state.mayManageFlow;
    },
    set mayManageFlow(mayManageFlow: boolean) {
      changeWorkspace(emulator, state, { mayManageFlow });
    },
    get flow() {
      return state.flow;
    },
    set flow(flow: string) {
      changeWorkspace(emulator, state, { flow });
    },
    get botCode() {
      return state.botCode;
    },
    get botUrl() {
      return botUrlOf(state);
    },
    get registration() {
      return readConfiguration(state) ?? undefined;
    },
    get conversations() {
      return [...state.conversations.values()].toSorted((a, b) => a.order - b.order);
    },
    send: (message) => sendAsContact(emulator, state, message),
    change: (change) => changeWorkspace(emulator, state, change),
    takeOver: (registration) => {
      register(state, {
        ...parseOptions("takeOver", registrationFields, registration),
        webhook_status: "verified",
      });
      publishWorkspace(emulator, state);
    },
    removeRegistration: () => {
      unregister(state);
      publishWorkspace(emulator, state);
    },
    deliver: (message, options) => deliverMessage(emulator, state, message, options),
  };
}
