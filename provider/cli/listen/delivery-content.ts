import { parseMessage } from "../../responder/delivery.js";
import type { DeliveryContent } from "./seen.js";

/** Reads what a delivery says, whoever wrote it: what is not there, or of another type, is left empty. */
export function readContent(body: string): DeliveryContent {
  const parsed = parseMessage(body);
  if (parsed === undefined) return { kind: "unknown", sender: "", conversation: "", text: "" };
  const { kind, message } = parsed;
  const fields = fieldsOf(message);
  return {
    kind,
    sender: toText(fields["sender_id"]),
    conversation: toText(fields["conv_id"]),
    text: toText(fields["text"]) || toText(fields["url"]),
  };
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" ? String(value) : "";
}
