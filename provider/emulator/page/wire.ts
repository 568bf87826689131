import type { DeliveryView, HandshakeView, RequestView } from "../control/shapes.js";
import type { CurlRequest } from "./curl.js";
import { contentOf, type MessageContent } from "./message-content.js";

/** One exchange on the wire: a request to the emulator, or one that it made. */
export type Exchange =
  | { kind: "request"; record: RequestView }
  | { kind: "handshake"; record: HandshakeView }
  | { kind: "delivery"; record: DeliveryView };

/** The routes of the control API. */
export const ROUTES = { request: "requests", handshake: "handshakes", delivery: "deliveries" } as const;

export const EXCHANGE_KINDS = ["request", "handshake", "delivery"] as const;

/** What names one exchange. */
export interface ExchangeId {
  kind: Exchange["kind"];
  id: string;
}

export type WireKind = "message" | "delivery" | "handshake" | "registration";

export type Outcome = "good" | "bad" | "pending";

/** The kind of traffic: a request is a message to `bot_url` or an action of the registration interface. */
export function wireKindOf(entry: Exchange): WireKind {
  if (entry.kind !== "request") return entry.kind;
  return entry.record.interface === "bot" ? "message" : "registration";
}

/** The conversation that an exchange belongs to; null if to none. */
export function conversationOf(entry: Exchange): string | null {
  return entry.kind === "handshake" ? null : entry.record.conversation;
}

/** Identifies an exchange among those of all kinds. */
export const keyOf = (kind: ExchangeId["kind"], id: string): string => `${kind} ${id}`;

/** By record, which is another object when it has changed: the search runs again with each key that is pressed. */
const searched = new WeakMap<Exchange["record"], string>();

/** Whether a body holds a text, in upper or lower case: as it was sent, or without the escapes of JSON. */
export function holds(entry: Exchange, text: string): boolean {
  const known = searched.get(entry.record) ?? bodiesOf(entry).flatMap(spellingsOf).join("\n").toLowerCase();
  searched.set(entry.record, known);
  return known.includes(text.toLowerCase());
}

function bodiesOf(entry: Exchange): string[] {
  const answers = entry.kind === "delivery" ? entry.record.attempts : [entry.record];
  return [entry.record.request.body, ...answers.map(({ response }) => response?.body ?? "")];
}

function spellingsOf(body: string): string[] {
  try {
    return [body, JSON.stringify(JSON.parse(body))];
  } catch (error) {
    if (error instanceof SyntaxError) return [body];
    throw error;
  }
}

/** How an exchange ended. */
export function outcomeOf(entry: Exchange): Outcome {
  if (isPending(entry)) return "pending";
  if (entry.kind === "request") return isSuccess(statusOf(entry)) ? "good" : "bad";
  if (entry.kind === "handshake") return entry.record.verdict === "passed" ? "good" : "bad";
  return entry.record.verdict === "delivered" && entry.record.signature === "right" ? "good" : "bad";
}

function isPending({ kind, record }: Exchange): boolean {
  if (kind === "request") return record.response === null && record.durationMs === 0;
  return record.verdict === "pending";
}

export const isSuccess = (status: number | null): boolean => status !== null && status >= 200 && status < 300;

/** Whether an injected fault matched it; for a delivery any of its attempts. */
export function hasFault(entry: Exchange): boolean {
  if (entry.kind === "handshake") return false;
  const calls = entry.kind === "request" ? [entry.record] : entry.record.attempts;
  return calls.some(({ fault }) => fault !== "");
}

/** The status of the last answer; null if there was none. */
export function statusOf(entry: Exchange): number | null {
  const last = entry.kind === "delivery" ? entry.record.attempts.at(-1) : entry.record;
  return last?.response?.status ?? null;
}

/** The time of the whole exchange; for a delivery the sum of its attempts. */
export function durationMsOf(entry: Exchange): number {
  if (entry.kind !== "delivery") return entry.record.durationMs;
  return entry.record.attempts.reduce((total, attempt) => total + attempt.durationMs, 0);
}

/** What curl needs to send it again. */
export function curlRequestOf(entry: Exchange): CurlRequest {
  const { url, request } = entry.record;
  const method = entry.kind === "request" ? entry.record.method : "POST";
  return { method, url, headers: request.headers, body: request.body };
}

/** The content of a message or delivery; null for other exchanges, and for a body that is not JSON. */
export function messageOf(entry: Exchange): MessageContent | null {
  const kind = wireKindOf(entry);
  if (kind !== "message" && kind !== "delivery") return null;
  try {
    return contentOf(JSON.parse(entry.record.request.body));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
