import type { InboundMessage, OutboundMessage } from "../../schema/index.js";
import type { Fault } from "./faults.js";
import type { HandshakeEncoding } from "./switches.js";

/** What every record has: `order` counts all records of one emulator. */
interface Numbered {
  id: string;
  order: number;
  at: Date;
}

/** What was sent or received, in one direction. */
export interface HttpPart {
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** An answer of HTTP. */
export interface HttpReply extends HttpPart {
  status: number;
}

/** A request that the emulator received. */
export interface RecordedRequest extends Numbered {
  /** Which of the two ports it came to. */
  interface: "registration" | "bot";
  /** The workspace it was for, if the address (or the address and the API key) names one. */
  workspace: string | undefined;
  /** The query parameter `action`, as sent. */
  action: string | undefined;
  /** The conversation of a message that was taken. */
  conversation: string | undefined;
  method: string;
  /** Path and query, as sent. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** The parsed JSON with every key in clear, or the text if it is no JSON. */
  body: unknown;
  /** The status of the answer; undefined while it is under way, and when the connection was closed without one. */
  status: number | undefined;
  /** Headers and body of the answer, where there was one. */
  answer: HttpPart | undefined;
  /** From the whole request to the answer; 0 while it is under way. */
  durationMs: number;
  /** The injected fault that struck it. */
  fault: Fault | undefined;
}

/** A message of a conversation. */
export interface MessageRecord extends Numbered {
  workspace: string;
  /** The id of its conversation. */
  conversation: string;
  from: "contact" | "flow" | "agent";
  body: InboundMessage | OutboundMessage;
  /** The id of a reply's delivery. */
  delivery: string | undefined;
  /** Whether the flow has still to answer it: a restart goes on with it. */
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
  /** The status that the webhook URL answered, where it answered. */
  status: number | undefined;
  /** What was sent, with the token in clear. */
  sent: HttpPart;
  received: HttpReply | undefined;
  durationMs: number;
}

/** One try of a delivery. */
export interface DeliveryAttempt {
  at: Date;
  durationMs: number;
  received: HttpReply | undefined;
  /** What was wrong; empty if it was delivered. */
  reason: string;
  /** The injected fault that struck it. */
  fault: Fault | undefined;
}

/** A delivery that the emulator made, or is about to make (section 6.2). */
export interface DeliveryRecord extends Numbered {
  workspace: string;
  /** The id of its conversation; undefined if it belongs to none. */
  conversation: string | undefined;
  /** `sender_id` of the message. */
  contactId: string;
  /** `conv_id` of the message; a bigint beyond the safe integers. */
  conversationId: number | bigint;
  /** What it delivers, such as `{ type: "text", text: "hello", … }`; `sent` is its bytes on the wire. */
  message: OutboundMessage;
  /** Where it was posted last, or is to be posted: the registered `webhook_url`. */
  url: string;
  /** The headers that were sent last; none before the first try. */
  headers: Readonly<Record<string, string>>;
  /** The bytes that were signed. They were sent whole, but for a try with a fault that cuts them. */
  sent: Uint8Array;
  /** Whether the signature is the right one for the registered key. */
  signature: "right" | "wrong";
  /** `delivered` if the webhook URL took it; `pending` while a try is under way or still to come. */
  verdict: "pending" | "delivered" | "failed";
  /** What was wrong with the last try; empty if it was delivered. */
  reason: string;
  /** The status of the last answer; undefined if there was none. */
  status: number | undefined;
  /** The body of the last answer as text, up to 64 KiB. */
  body: string;
  attempts: DeliveryAttempt[];
  /** Not tried before this moment. */
  dueAt: Date;
  /** The id of the delivery whose bytes were sent again. */
  resendOf: string | undefined;
}
