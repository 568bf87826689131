import { inboundKindOf, outboundKindOf, type MediaKind } from "../../../schema/message-kind.js";
import type { SubmittedValue } from "../../../schema/inbound.js";
import type { ConversationView } from "../control/shapes.js";

/** A contact and a conversation. */
export type Party = Pick<ConversationView, "contactId" | "contactName" | "conversationId">;

/** What the form writes: a text, or the URL of a medium. */
export interface Draft {
  kind: "text" | MediaKind;
  text: string;
  url: string;
}

/** The kind of a body of section 2.3 or 2.4. */
export function kindOf(body: object): string {
  const kind =
    "message_type" in body && body.message_type === "incoming" ? inboundKindOf(body) : outboundKindOf(body);
  return kind ?? "unknown";
}

/** The JSON of a contact's message (section 2.3). */
export function contactBody(party: Party, { kind, text, url }: Draft): string {
  const attachments = kind === "text" ? undefined : [{ file_type: kind, data_url: url }];
  const content = kind === "text" ? text : "";
  return inboundBody(party, { event: "message_created", content, attachments });
}

/** The JSON of the contact's press of a button (section 2.3). */
export const pressBody = (party: Party, { title, payload }: SubmittedValue): string =>
  inboundBody(party, { event: "message_postback", content: title, submitted_values: [{ title, payload }] });

function inboundBody(party: Party, fields: object): string {
  const { contactId: id, contactName: name } = party;
  const sender = { id, name, email: "", phone_number: "", type: "contact" };
  return withDigits("conversation_id", party, { ...fields, message_type: "incoming", sender });
}

/** The JSON of an agent's reply (section 2.4). The emulator adds the fields that are the same in every reply. */
export const agentBody = (party: Party, { kind, text, url }: Draft): string =>
  withDigits("conv_id", party, {
    sender_id: party.contactId,
    type: kind,
    ...(kind === "text" ? { text } : { url }),
  });

/** JSON.stringify would round a conversation id beyond the safe integers. */
const withDigits = (key: string, { conversationId }: Party, rest: object): string =>
  `{"${key}":${conversationId},${JSON.stringify(rest).slice(1)}`;
