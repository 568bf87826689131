import type { InboundMessage } from "../../schema/inbound.js";
import type { OutboundMessage } from "../../schema/outbound.js";
import type { WebhookConfiguration } from "../../schema/registration.js";
import type { KeyedQueue } from "../lib/keyed-queue.js";
import type { ConversationQueue } from "./deliveries/queue.js";
import type { FaultList, FaultView } from "./faults.js";
import type { Flow } from "./flows/flows.js";
import type { Settings, WorkspaceOptions } from "./options.js";
import type { HttpMessage, Outgoing, ReceivedResponse } from "./service/outgoing.js";
import type { HandshakeEncoding } from "../errors/index.js";

/** A record. It has the same form in memory as in the control API's JSON, which masks its secrets. */
interface Numbered {
  /** Unique within one emulator. */
  id: string;
  /** The record's number among all records of one emulator. */
  order: number;
  /** When it was recorded (ISO 8601). */
  at: string;
}

/** A record of a workspace. */
interface Owned extends Numbered {
  /** The name of its workspace. */
  workspace: string;
}

/** How an HTTP request ended. */
export interface Ending {
  /** The response (of a webhook URL, at most 64 KiB); null if there was none, or none yet. */
  response: ReceivedResponse | null;
  /** The injected fault that applied, as JSON; empty if none did. */
  fault: string;
  /** How long it took, in milliseconds; 0 while it is in progress. */
  durationMs: number;
}

/** A request that the emulator received. */
export interface RecordedRequest extends Numbered, Ending {
  /** Which of the two ports received it. */
  interface: "registration" | "bot";
  /** The workspace that the address identifies, alone or with the API key; null if there is none. */
  workspace: string | null;
  /** `get-webhook`, `set-webhook`, `delete-webhook`, or `message` on `bot_url`; null for anything else. */
  operation: string | null;
  /** The HTTP method. */
  method: string;
  /** The full URL. */
  url: string;
  /** Its headers and body. */
  request: HttpMessage;
}

/** A message of a conversation, as it was on the wire. */
export interface MessageRecord extends Owned {
  /** The id of its conversation. */
  conversation: string;
  /** Who wrote it. */
  from: "contact" | "flow" | "agent";
  /** The body (section 2.3 or 2.4). A conversation id beyond the safe integers is a string here. */
  body: InboundMessage | OutboundMessage;
  /** The id of a reply's delivery; null for a contact's message, or if no webhook accepted deliveries then. */
  delivery: string | null;
  /** The verdict of its delivery, whose record may be gone. Missing until there is a verdict. */
  verdict?: "delivered" | "failed";
}

/** A handshake that the emulator made (section 6.1). */
export interface HandshakeRecord extends Owned, Ending {
  /** How the parameters were sent, which section 6.1 does not specify. */
  encoding: HandshakeEncoding;
  /** The `webhook_url` of the set-webhook request, with the parameters if they were sent in its query. */
  url: string;
  /** The `hub_challenge`. */
  challenge: string;
  /** Whether the response passed. */
  verdict: "passed" | "failed";
  /** What was wrong; empty if it passed. Contains no secrets. */
  reason: string;
  /** How to fix the failure, in one line; empty if the handshake passed, or if a fault made it fail. */
  hint: string;
  /** The parameters as they were sent. */
  request: HttpMessage;
}

/** One attempt of a delivery. */
interface DeliveryAttempt extends Ending {
  /** When it began (ISO 8601). */
  at: string;
  /** What was wrong; empty if it was delivered. */
  reason: string;
}

/** A delivery that the emulator made, or is about to make (section 6.2). */
export interface DeliveryRecord extends Owned {
  /** The id of its conversation. */
  conversation: string;
  /** Such as `{ type: "text", text: "hello", … }`. A conversation id beyond the safe integers is a string here. */
  message: OutboundMessage;
  /** The `webhook_url` of the last attempt; before the first attempt, the registered one. */
  url: string;
  /** The headers of the last attempt (empty before the first), and the signed body. */
  request: HttpMessage;
  /** Whether the signature is correct for the registered key. */
  signature: "right" | "wrong";
  /** `delivered` if the webhook URL accepted it; `pending` while an attempt is in progress or still due. */
  verdict: "pending" | "delivered" | "failed";
  /** What was wrong with the last attempt; empty if it was delivered. */
  reason: string;
  /** The attempts so far, oldest first. */
  attempts: DeliveryAttempt[];
  /** The id of the delivery that this one sends again; null if it is not a copy. */
  resendOf: string | null;
}

/** The messages of one contact under one conversation id, in both directions. */
export interface ConversationRecord extends Omit<Owned, "at"> {
  /** `sender.id` (section 2.3). */
  contactId: string;
  /** `sender.name` of the last message with a name. */
  contactName: string;
  /** `conversation_id`, as digits, because it may exceed the safe integers. */
  conversationId: string;
  /** When its last message was recorded (ISO 8601). */
  lastAt: string;
  /** Oldest first. */
  messages: MessageRecord[];
}

/** A conversation in memory. */
export interface Conversation extends ConversationRecord {
  readonly queue: ConversationQueue;
}

/** A conversation with its workspace and emulator. */
export interface Place {
  state: EmulatorState;
  workspace: WorkspaceState;
  conversation: Conversation;
}

/** A registered webhook (section 2.1, without the bot's URL). */
export type RegisteredWebhook = Omit<WebhookConfiguration, "bot_url">;

/** Options that all have a value. With `exactOptionalPropertyTypes`, `Required` would keep `undefined`. */
type Settled<Options> = { [Name in keyof Options]-?: NonNullable<Options[Name]> };

/** A workspace in memory: plain data, changed by the functions of this folder. */
export interface WorkspaceState extends Settled<
  Pick<WorkspaceOptions, "name" | "apiKey" | "botCode" | "flowApiKey" | "mayManageFlow" | "flow">
> {
  /** The path of `baseUrl`, such as `/acme/apichat`. */
  readonly path: string;
  /** The query of `baseUrl`, without `?`. */
  readonly query: string;
  /** The last function that was its flow; the name `custom` selects it again. */
  customFlow: Flow | undefined;
  botBaseUrl: string;
  /** The namespace of its flow: the header `x-flow-ns` of deliveries (section 6.2). */
  readonly flowNs: string;
  registration: RegisteredWebhook | null;
  /** Whether a webhook was ever registered. Before that, get-webhook responds as `beforeFirstSet` says. */
  everSet: boolean;
  /** When the registration becomes `verified` by itself, in milliseconds since 1970. */
  verifiesAtMs: number | null;
  /** The name of the workspace that receives the calls to this one's address; null if this one does. */
  routeTo: string | null;
  handshakes: HandshakeRecord[];
  deliveries: DeliveryRecord[];
  /** By conversation id and contact, in the order of last use. */
  conversations: Map<string, Conversation>;
  /**
   * When the requests of the last second arrived (`performance.now()`); recorded only if `requestsPerSecond`
   * is set.
   */
  requestTimes: number[];
}

/** Returns the registration; it becomes `verified` here if `verifyAfterMs` has passed. */
export function currentRegistration(workspace: WorkspaceState): RegisteredWebhook | null {
  const { registration, verifiesAtMs } = workspace;
  if (registration && verifiesAtMs !== null && Date.now() >= verifiesAtMs) {
    registration.webhook_status = "verified";
    workspace.verifiesAtMs = null;
  }
  return registration;
}

/** Returns the registration that accepts deliveries now, if any. */
export function deliverableRegistration(
  workspace: WorkspaceState,
  { deliveryWhile }: Pick<Settings, "deliveryWhile">,
): RegisteredWebhook | null {
  const registration = currentRegistration(workspace);
  const accepts = deliveryWhile === "registered" || registration?.webhook_status === "verified";
  return accepts ? registration : null;
}

/** The complete item that each kind of change contains. */
interface Changed<Workspace, Talk> {
  /** The workspace, new or changed. */
  workspace: Workspace;
  /** The conversation, new or changed. */
  conversation: Talk;
  /** The new message, or a reply whose delivery now has its verdict. */
  message: MessageRecord;
  /** The handshake, after it has ended. */
  handshake: HandshakeRecord;
  /** The delivery, pending or ended. */
  delivery: DeliveryRecord;
  /** The request that was received, with its response if there is one. */
  request: RecordedRequest;
  /** All fault rules, in the order of injection. */
  faults: FaultView[];
}

/**
 * A change to the state, such as `{ type: "message", message }`. `Workspace` and `Talk` are the forms of a workspace
 * and a conversation: those in memory, or those of the control API.
 */
export type Change<Workspace = WorkspaceState, Talk = Conversation> =
  | {
      [Type in keyof Changed<Workspace, Talk>]: {
        /** What has changed. */
        type: Type;
      } & Pick<Changed<Workspace, Talk>, Type>;
    }[keyof Changed<Workspace, Talk>]
  | {
      type: "workspace-removed";
      /** The name of the workspace. */
      name: string;
    }
  | {
      /** A flow threw or returned an invalid reply, so the contact's message gets no reply. */
      type: "flow-failed";
      /** The name of the workspace. */
      workspace: string;
      /** What the flow threw, or what is wrong with its reply. */
      reason: string;
    }
  | { type: "reset" };

/** Notifies all listeners synchronously: they learn of a change before the client gets its response. */
export class ChangeHub {
  readonly #listeners = new Set<(change: Change) => void>();

  publish(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** The state of one emulator. */
export interface EmulatorState {
  readonly settings: Settings;
  /** The workspaces, by name. */
  readonly directory: Map<string, WorkspaceState>;
  readonly faults: FaultList;
  readonly outgoing: Outgoing;
  /** Oldest first. */
  readonly requests: RecordedRequest[];
  /** A queue for the registration calls of each workspace, and one for the flow runs of each conversation. */
  readonly turns: KeyedQueue<WorkspaceState | Conversation>;
  readonly changes: ChangeHub;
  /** The `order` of the last record. */
  lastOrder: number;
  /** The origins of the two ports, once they listen. */
  origins: { registration: string; bot: string };
}

const PREFIXES = { conversation: "c", message: "m", handshake: "h", delivery: "d", request: "r", fault: "f" };

export function nextRecord(state: EmulatorState, kind: keyof typeof PREFIXES): Numbered {
  state.lastOrder += 1;
  const order = state.lastOrder;
  return { id: `${PREFIXES[kind]}${order}`, order, at: new Date().toISOString() };
}

/**
 * How many requests are kept in total; how many handshakes, deliveries and conversations per workspace; and how
 * many messages per conversation.
 */
export const HISTORY_LIMIT = 10_000;

/** Adds a record to a list of limited length. Trims rarely, because trimming moves the whole list. */
export function keep<T>(list: T[], record: T): void {
  list.push(record);
  if (list.length >= HISTORY_LIMIT * 1.1) list.splice(0, list.length - HISTORY_LIMIT);
}
