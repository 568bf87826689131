import type { DeliveryRecord, HandshakeRecord, RecordedRequest } from "../state.js";
import { parseJson } from "./json.js";
import { inboundKindOf, outboundKindOf } from "../../../schema/message-kind.js";

/** One exchange on the wire: a request to the emulator, or one that it made. */
export type Exchange =
  | { kind: "request"; record: RecordedRequest }
  | { kind: "handshake"; record: HandshakeRecord }
  | { kind: "delivery"; record: DeliveryRecord };

export const ROUTES = { request: "requests", handshake: "handshakes", delivery: "deliveries" } as const;

export const EXCHANGE_KINDS = ["request", "handshake", "delivery"] as const;

/** Identifies an exchange among all kinds. */
export const keyOf = (kind: Exchange["kind"], id: string): string => `${kind} ${id}`;

export const WIRE_KINDS = ["message", "delivery", "handshake", "registration"] as const;
export type WireKind = (typeof WIRE_KINDS)[number];

/** The kind of traffic: a request is a message to `bot_url` or an action of the registration interface. */
export function wireKindOf({ kind, record }: Exchange): WireKind {
  if (kind !== "request") return kind;
  return record.interface === "bot" ? "message" : "registration";
}

/** The method of a request; the emulator's own calls are always a POST. */
export const methodOf = ({ kind, record }: Exchange): string => (kind === "request" ? record.method : "POST");

/** One HTTP call: a delivery has several if it is tried again. */
type Attempt = DeliveryRecord["attempts"][number];
export type Call = Pick<Attempt, "durationMs" | "response"> & Partial<Attempt>;

export const callsOf = ({ kind, record }: Exchange): readonly Call[] =>
  kind === "delivery" ? record.attempts : [record];

/** By record, which is a new object after a change. Caches the text, because each key press searches again. */
const searched = new WeakMap<Exchange["record"], string>();

/**
 * Whether URL, method, operation, verdict, a status, a reason or a body holds a text, in upper or lower case.
 * Bodies are searched as they were sent and without the escapes of JSON.
 */
export function holds(exchange: Exchange, text: string): boolean {
  const { kind, record } = exchange;
  const parts = () => [
    `${methodOf(exchange)} ${record.url}`,
    kind === "request" ? (record.operation ?? "") : `${kind} ${record.verdict}`,
    ...spellingsOf(record.request.body),
    ...callsOf(exchange).flatMap(({ response, reason = "" }) => [
      reason,
      String(response?.status ?? ""),
      ...spellingsOf(response?.body ?? ""),
    ]),
  ];
  const known = searched.get(record) ?? parts().join("\n").toLowerCase();
  searched.set(record, known);
  return known.includes(text.toLowerCase());
}

function spellingsOf(body: string): string[] {
  const parsed = parseJson(body);
  return parsed === undefined ? [body] : [body, JSON.stringify(parsed)];
}

export function outcomeOf({ kind, record }: Exchange): "good" | "bad" | "pending" {
  if (kind === "request") {
    if (record.response === null && record.durationMs === 0) return "pending";
    return isSuccess(record.response?.status) ? "good" : "bad";
  }
  if (record.verdict === "pending") return "pending";
  const isRight = kind === "handshake" || record.signature === "right";
  return record.verdict !== "failed" && isRight ? "good" : "bad";
}

export const isSuccess = (status = 0): boolean => status >= 200 && status < 300;

const SUBJECT_CHARACTERS = 80;

/** The text of a message or delivery, or its kind if it has none. It may have any body: it is what was sent. */
export function subjectOf(exchange: Exchange): string {
  if (!["message", "delivery"].includes(wireKindOf(exchange))) return "";
  const body = Object(parseJson(exchange.record.request.body)) as { text?: unknown; content?: unknown };
  const text = body.text ?? body.content;
  return typeof text === "string" && text !== "" ? text.slice(0, SUBJECT_CHARACTERS) : kindOf(body);
}

export function kindOf(body: object): string {
  const isInbound = "message_type" in body && body.message_type === "incoming";
  return (isInbound ? inboundKindOf(body) : outboundKindOf(body)) ?? "unknown";
}
