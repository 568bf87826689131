import type * as z from "zod";
import {
  inboundAudioMessage,
  inboundButtonMessage,
  inboundFileMessage,
  inboundImageMessage,
  inboundTextMessage,
  inboundVideoMessage,
  type InboundMessage,
} from "../../schema/index.js";
import { refuseFields } from "./refusal.js";
import { parseBody } from "./request-body.js";
import type { SenderFields } from "./switches.js";

const ATTACHMENT_MESSAGES: Record<string, z.ZodType<InboundMessage>> = {
  image: inboundImageMessage,
  audio: inboundAudioMessage,
  video: inboundVideoMessage,
  file: inboundFileMessage,
};

/** A message of one of the six operations (section 4.2); else 422 naming the fields of the operation that was meant. */
export function readMessage(body: object, senderFields: SenderFields): InboundMessage {
  const message = parseBody(schemaOf(body), body);
  if (senderFields === "required") assertSenderIsWhole(message);
  return message;
}

/** The operations differ only by body: `event` and the kind of the attachment tell which is meant. */
function schemaOf(body: object): z.ZodType<InboundMessage> {
  const { event, attachments } = body as { event?: unknown; attachments?: unknown };
  if (event === "message_postback") return inboundButtonMessage;
  if (event !== "message_created") {
    throw refuseFields({ event: ['must be "message_created" or "message_postback"'] });
  }
  return attachments === undefined ? inboundTextMessage : attachmentSchemaOf(attachments);
}

function attachmentSchemaOf(attachments: unknown): z.ZodType<InboundMessage> {
  const first: unknown = Array.isArray(attachments) ? attachments[0] : undefined;
  // Without a first entry any of the four says the same of the rest.
  if (typeof first !== "object" || first === null) return inboundImageMessage;
  const fileType = (first as { file_type?: unknown }).file_type;
  if (typeof fileType === "string" && Object.hasOwn(ATTACHMENT_MESSAGES, fileType)) {
    return ATTACHMENT_MESSAGES[fileType] ?? inboundImageMessage;
  }
  throw refuseFields({ "attachments.0.file_type": ['must be "image", "audio", "video" or "file"'] });
}

function assertSenderIsWhole({ sender }: InboundMessage): void {
  const missing = (["email", "phone_number"] as const).filter((field) => sender[field] === undefined);
  if (missing.length === 0) return;
  throw refuseFields(
    Object.fromEntries(missing.map((field) => [`sender.${field}`, ["is missing; must be an empty text"]])),
  );
}
