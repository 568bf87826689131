import type { Conversation } from "./conversations.js";
import type { DeliveryRecord, HandshakeRecord, MessageRecord, RecordedRequest } from "./records.js";
import type { WorkspaceState } from "./workspace-state.js";

/** A flow that threw, or replied what is no reply: the message stays without answer. */
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
  | { kind: "message"; message: MessageRecord }
  | { kind: "handshake"; handshake: HandshakeRecord }
  | { kind: "delivery"; delivery: DeliveryRecord }
  | { kind: "flow-failed"; failure: FlowFailure }
  | { kind: "request"; request: RecordedRequest }
  | { kind: "faults" }
  | { kind: "reset" };

type ChangeListener = (change: Change) => void;

/**
 * Tells all listeners of each change before the one who made it goes on: the store has written a record before its request
 * is answered.
 */
export class ChangeHub {
  readonly #listeners = new Set<ChangeListener>();

  publish(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Gives the function that ends the subscription. */
  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
