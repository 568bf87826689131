import type { Fault } from "./faults.js";
import type { HandshakeEncoding } from "./options.js";

/** A request that the emulator received. */
export interface RecordedRequest {
  at: Date;
  /** Which of the two ports it came to. */
  interface: "registration" | "bot";
  /** The workspace it was for, if the address (or the address and the API key) names one. */
  workspace: string | undefined;
  /** The query parameter `action`, as sent. */
  action: string | undefined;
  method: string;
  /** Path and query, as sent. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** The parsed JSON with every key in clear, or the text if it is no JSON. */
  body: unknown;
  /** The status of the answer; undefined while it is under way, and when the connection was closed without one. */
  status: number | undefined;
  /** The injected fault that struck it. */
  fault: Fault | undefined;
}

/** A handshake that the emulator made (section 6.1). */
export interface HandshakeRecord {
  at: Date;
  encoding: HandshakeEncoding;
  /** The `webhook_url` of the set-webhook. */
  url: string;
  challenge: string;
  verdict: "passed" | "failed";
  /** What was wrong; empty if it passed. No secret is in it. */
  reason: string;
  /** The status that the webhook URL answered, where it answered. */
  status: number | undefined;
}

/** A delivery that the emulator made (section 6.2). */
export interface DeliveryResult {
  at: Date;
  /** Where it was posted: the registered `webhook_url`. */
  url: string;
  /** The headers that were sent. */
  headers: Readonly<Record<string, string>>;
  /** The bytes that were sent and signed. */
  sent: Uint8Array;
  /** `delivered` if the webhook URL answered with a 2xx status. */
  verdict: "delivered" | "failed";
  /** What was wrong; empty if it was delivered. */
  reason: string;
  /** The status of the answer; undefined if there was none. */
  status: number | undefined;
  /** The body of the answer as text, up to 64 KiB. */
  body: string;
}
