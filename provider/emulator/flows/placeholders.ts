import type { InboundMessage } from "../../../schema/index.js";
import type { FlowReply } from "./flow.js";
import { payloadOf } from "./payload.js";

/** The fields of a reply that people or flows read. A URL must be one before it is filled, so none stands in it. */
const FILLED_FIELDS: ReadonlySet<string> = new Set(["text", "title", "subtitle", "payload"]);

const PLACEHOLDER = /\{\{(text|name|payload)\}\}/g;

/** A reply with `{{text}}`, `{{name}}` and `{{payload}}` filled from the message. What the contact wrote is not filled again. */
export function fillReply(reply: FlowReply, message: InboundMessage): FlowReply {
  const values: Record<string, string> = {
    text: message.content,
    name: message.sender.name,
    payload: payloadOf(message) ?? "",
  };
  const fill = (text: string): string =>
    text.replaceAll(PLACEHOLDER, (_, name: string) => values[name] ?? "");
  return fillFields(reply, fill);
}

function fillFields<T>(value: T, fill: (text: string) => string): T {
  const text = JSON.stringify(value, (field, held: unknown) =>
    typeof held === "string" && FILLED_FIELDS.has(field) ? fill(held) : held,
  );
  return JSON.parse(text) as T;
}
