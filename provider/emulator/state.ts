import type { InboundMessage } from "../../schema/inbound.js";
import type { OutboundMessage } from "../../schema/outbound.js";
import type { WebhookConfiguration } from "../../schema/registration.js";
import type { KeyedQueue } from "../lib/keyed-queue.js";
import type { ConversationQueue } from "./deliveries/queue.js";
import type { FaultList } from "./faults.js";
import type { Flow } from "./flows/flow.js";
import type { Settings } from "./options.js";
import type { HttpMessage, ReceivedResponse, Outgoing } from "./service/outgoing.js";
import type { HandshakeEncoding } from "../errors/index.js";

/*
 * A record has one form, JSON: in memory, in the file and on the wire. The control API masks its secrets.
 * `order` counts all records of one emulator, so that they can be put in one line; times are ISO 8601.
 */

interface Numbered {
  id: string;
  order: number;
  at: string;
}

/** A request that the emulator received. */
export interface RecordedRequest extends Numbered {
  /** Which of the two ports it came to. */
  interface: "registration" | "bot";
  /** The workspace it was for, if the address (or the address and the API key) names one. */
  workspace: string | null;
  /** The query parameter `action`, as sent. */
  action?: string;
  /** `get-webhook`, `set-webhook`, `delete-webhook`; `message` on `bot_url`; null if it is none of them. */
  operation: string | null;
  /** The conversation of a message that was taken. */
  conversation: string | null;
  method: string;
  /** The whole address. */
  url: string;
  request: HttpMessage;
  /** The status of the answer. Missing while it is in progress, and when the connection was closed without an answer. */
  status?: number;
  /** The answer; null while it is in progress, and when the connection was closed without one. */
  response: ReceivedResponse | null;
  /** The injected fault that it got, as JSON text; empty if none. */
  fault: string;
  /** From the whole request to the answer; 0 while it is in progress. */
  durationMs: number;
}

/** A message of a conversation, as it was on the wire. */
export interface MessageRecord extends Numbered {
  workspace: string;
  /** The id of its conversation. */
  conversation: string;
  from: "contact" | "flow" | "agent";
  /** The body (section 2.3 or 2.4). A conversation id beyond the safe integers is a text here. */
  body: InboundMessage | OutboundMessage;
  /** The delivery of a reply; null for what the contact sent, and for a reply that no verified webhook was there for. */
  delivery: string | null;
  /** Whether the flow has still to answer it: a restart resumes it. */
  unanswered: boolean;
}

/** A handshake that the emulator made (section 6.1). */
export interface HandshakeRecord extends Numbered {
  workspace: string;
  encoding: HandshakeEncoding;
  /** The `webhook_url` of the set-webhook. */
  url: string;
  challenge: string;
  verdict: "passed" | "failed";
  /** What was wrong; empty if it passed. No secret is in it. */
  reason: string;
  /** The parameters as they were sent. */
  request: HttpMessage;
  /** The status that the webhook URL answered, where it answered. */
  status?: number;
  response: ReceivedResponse | null;
  durationMs: number;
}

/** One try of a delivery. */
interface DeliveryAttempt {
  at: string;
  durationMs: number;
  /** What the endpoint answered, up to 64 KiB; null if there was no answer. */
  response: ReceivedResponse | null;
  /** What was wrong; empty if it was delivered. */
  reason: string;
  /** The injected fault that it got, as JSON text; empty if none. */
  fault: string;
}

/** A delivery that the emulator made, or is about to make (section 6.2). */
export interface DeliveryRecord extends Numbered {
  workspace: string;
  /** The id of its conversation. */
  conversation: string;
  /** `sender_id` of the message. */
  contactId: string;
  /** `conv_id` of the message, as digits. */
  conversationId: string;
  /** What it delivers, such as `{ type: "text", text: "hello", … }`. A conversation id beyond the safe integers is a text. */
  message: OutboundMessage;
  /** Where it was posted last, or is to be posted: the registered `webhook_url`. */
  url: string;
  /** The headers that were sent last, none before the first try, and the body that was signed. */
  request: HttpMessage;
  /** The bytes that were signed, in base64, where they are no UTF-8. */
  base64?: string;
  /** Whether the signature is the right one for the registered key. */
  signature: "right" | "wrong";
  /** `delivered` if the webhook URL took it; `pending` while a try is in progress or still to come. */
  verdict: "pending" | "delivered" | "failed";
  /** What was wrong with the last try; empty if it was delivered. */
  reason: string;
  /** The status of the last answer; missing if there was none. */
  status?: number;
  attempts: DeliveryAttempt[];
  /** Not tried before this moment. */
  dueAt: string;
  /** The delivery whose bytes were sent again. */
  resendOf: string | null;
}

/** The messages of one contact under one conversation id, in both directions. */
export interface ConversationRecord {
  id: string;
  order: number;
  workspace: string;
  /** `sender.id` (section 2.3). */
  contactId: string;
  /** `sender.name` of the last message that had one. */
  contactName: string;
  /** `conversation_id`, as digits: it may be beyond the safe integers. */
  conversationId: string;
  lastAt: string;
  /** Oldest first. */
  messages: MessageRecord[];
}

/** A conversation as the emulator holds it. */
export interface Conversation extends ConversationRecord {
  readonly queue: ConversationQueue;
}

/** What a workspace holds while a webhook is registered (section 2.1, without the bot's address). */
export type Registration = Omit<WebhookConfiguration, "bot_url">;

/** What is kept of a workspace: all but its records, and what only a running emulator has. */
export interface WorkspaceRecord {
  readonly name: string;
  /** The path of `baseUrl`, such as `/acme/apichat`. */
  readonly path: string;
  /** The query of `baseUrl`, without `?`. */
  readonly query: string;
  apiKey: string;
  /** What messages on `bot_url` are sent with (section 5). */
  flowApiKey: string;
  mayManageFlow: boolean;
  /** The name of what replies. */
  flow: string;
  botCode: string;
  botBaseUrl: string;
  /** The namespace of the bot's flow, in the header `x-flow-ns` of deliveries (section 6.2). */
  readonly flowNs: string;
  registration: Registration | null;
  /** Whether a webhook was ever registered: before that, get-webhook answers as `beforeFirstSet` says. */
  everSet: boolean;
  /** When the registration becomes `verified` by itself, in milliseconds since 1970. */
  verifiesAtMs: number | null;
  /** The workspace that receives calls to this one's address, if it is a different one. */
  routeTo: string | null;
}

/** All that the emulator holds of one workspace: plain data, changed by the functions of this folder. */
export interface WorkspaceState extends WorkspaceRecord {
  handshakes: HandshakeRecord[];
  deliveries: DeliveryRecord[];
  /** By conversation id and contact, in the order of the last message from the contact. */
  conversations: Map<string, Conversation>;
  /** When the calls and messages of the last second came, as `performance.now()`; kept only where they are limited. */
  requestTimes: number[];
}

/** The registration as it is now: the status that time has brought is written down first. */
export function currentRegistration(workspace: WorkspaceState): Registration | null {
  const { registration, verifiesAtMs } = workspace;
  if (registration && verifiesAtMs !== null && Date.now() >= verifiesAtMs) {
    registration.webhook_status = "verified";
    workspace.verifiesAtMs = null;
  }
  return registration;
}

/** The registration that deliveries go to now, if there is one. */
export function deliverableRegistration(
  workspace: WorkspaceState,
  { deliveryWhile }: Pick<Settings, "deliveryWhile">,
): Registration | null {
  const registration = currentRegistration(workspace);
  const takes = deliveryWhile === "registered" || registration?.webhook_status === "verified";
  return takes ? registration : null;
}

/** A flow that threw or returned an invalid reply; the message gets no reply. */
export interface FlowFailure {
  workspace: string;
  conversation: string;
  /** The id of the message. */
  message: string;
  reason: string;
}

/** Something that the emulator holds is new or has changed. The record is whole: who listens needs no other. */
export type Change =
  | { kind: "workspace"; workspace: WorkspaceState }
  | { kind: "workspace-removed"; name: string }
  | { kind: "conversation"; conversation: Conversation }
  | { kind: "conversation-dropped"; conversation: Conversation }
  | { kind: "message"; message: MessageRecord }
  | { kind: "handshake"; handshake: HandshakeRecord }
  | { kind: "delivery"; delivery: DeliveryRecord }
  | { kind: "flow-failed"; failure: FlowFailure }
  | { kind: "request"; request: RecordedRequest }
  | { kind: "faults" }
  | { kind: "reset" };

/** Notifies all listeners synchronously, so that the store has written a record before its request is answered. */
export class ChangeHub {
  readonly #listeners = new Set<(change: Change) => void>();

  publish(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Gives the function that ends the subscription. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** All that one emulator holds, for the functions that answer its requests. */
export interface EmulatorState {
  readonly settings: Settings;
  /** The workspaces, by name. */
  readonly directory: Map<string, WorkspaceState>;
  readonly faults: FaultList;
  readonly outgoing: Outgoing;
  /** Oldest first. */
  readonly requests: RecordedRequest[];
  /** The calls of each workspace to the registration interface. */
  readonly calls: KeyedQueue<WorkspaceState>;
  /** What can reply, by the name that a workspace chooses. */
  readonly flows: Map<string, Flow>;
  readonly changes: ChangeHub;
  /** The `order` of the last record. */
  lastOrder: number;
  /** Where the two ports can be reached, once they listen. */
  origins: { registration: string; bot: string };
}

const PREFIXES = { conversation: "c", message: "m", handshake: "h", delivery: "d", request: "r", fault: "f" };

/** Identifies a new record: all of one emulator are counted together. */
export function nextRecord(state: EmulatorState, kind: keyof typeof PREFIXES): { id: string; order: number } {
  state.lastOrder += 1;
  return { id: `${PREFIXES[kind]}${state.lastOrder}`, order: state.lastOrder };
}

/** How many requests, and how many handshakes, deliveries and messages of a workspace, are kept. The oldest go first. */
export const HISTORY_LIMIT = 10_000;

/** Adds a record to a list that must not grow without end. Cuts seldom, because each cut moves the whole list. */
export function keep<T>(list: T[], record: T): void {
  list.push(record);
  if (list.length >= HISTORY_LIMIT * 1.1) list.splice(0, list.length - HISTORY_LIMIT);
}
