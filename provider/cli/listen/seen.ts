import type { OutboundKind } from "../../../schema/message-kind.js";
import type { Handshake } from "../../responder/handshake.js";

/** The signature of a delivery: of the verification key, of none, or not there. */
export type SignatureVerdict = "right" | "wrong" | "missing";

/** What every line about a request has. `id` counts the requests of one run. */
interface Seen {
  id: number;
  /** ISO 8601. */
  at: string;
  /** What was answered. */
  status: number;
  /** Why it was refused; empty if it was not. */
  reason: string;
  /** Path and query as they came; the values of the query are masked. */
  path: string;
  headers: [name: string, value: string][];
}

/** A handshake (section 6.1). Its body is not shown: it holds a key. */
export interface SeenHandshake extends Seen {
  type: "handshake";
  verdict: "passed" | "refused";
  encoding: Handshake["encoding"];
  /** Its `User-Agent` is that of the handshakes that this package makes before the service does. Any sender can set it. */
  looksLikePreflight: boolean;
}

/** The content of a delivery (section 2.4). It is not checked: with a wrong signature anybody may have written it. */
export interface DeliveryContent {
  kind: OutboundKind | "unknown";
  /** `sender_id`; empty if there is none. */
  sender: string;
  /** The digits of `conv_id`; empty if there is none. */
  conversation: string;
  /** Its text, or the address of its media. */
  text: string;
}

/** A delivery (section 6.2), also one that was refused. */
export interface SeenDelivery extends Seen, DeliveryContent {
  type: "delivery";
  verdict: "accepted" | "refused";
  signature: SignatureVerdict;
  body: string;
}

/** Neither: another method, another path, a body that is too large. */
export interface SeenOther extends Seen {
  type: "request";
  verdict: "refused";
  method: string;
}

/** What the target of `--forward` answered. */
export interface SeenForward {
  type: "forward";
  /** The delivery that was forwarded. */
  id: number;
  at: string;
  url: string;
  /** Null if there was no answer. */
  status: number | null;
  /** Why there was no answer; empty if there was one. */
  reason: string;
  durationMs: number;
}

/** The first line. */
interface Listening {
  type: "listening";
  at: string;
  url: string;
  forwardTo: string | null;
}

export type SeenRequest = SeenHandshake | SeenDelivery | SeenOther;

export type ListenEvent = Listening | SeenRequest | SeenForward;
