import type { DeliveryRecord, Ending, HandshakeRecord, RecordedRequest } from "../state.js";
import { parseJson } from "./json.js";
import { inboundKindOf, outboundKindOf } from "../../../schema/message-kind.js";

/** One exchange on the wire: a request that the emulator received or sent. */
export type Exchange =
  | { kind: "request"; record: RecordedRequest }
  | { kind: "handshake"; record: HandshakeRecord }
  | { kind: "delivery"; record: DeliveryRecord };

export const ROUTES = { request: "requests", handshake: "handshakes", delivery: "deliveries" } as const;

/** The HTTP calls of an exchange: a delivery has several if it is retried. */
export const callsOf = ({ kind, record }: Exchange): readonly (Ending & { reason?: string })[] =>
  kind === "delivery" ? record.attempts : [record];

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

/** The text of a message or delivery, or its kind if it has no text. The body may have any shape. */
export function subjectOf(exchange: Exchange): string {
  const { kind, record } = exchange;
  if (kind === "handshake" || (kind === "request" && record.interface === "registration")) return "";
  const body = Object(parseJson(record.request.body)) as { text?: unknown; content?: unknown };
  const text = body.text ?? body.content;
  return typeof text === "string" && text !== "" ? text.slice(0, SUBJECT_CHARACTERS) : kindOf(body);
}

export function kindOf(body: object): string {
  const isInbound = "message_type" in body && body.message_type === "incoming";
  return (isInbound ? inboundKindOf(body) : outboundKindOf(body)) ?? "unknown";
}
