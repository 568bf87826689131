import type * as z from "zod";
import {
  inboundAudioMessage,
  inboundButtonMessage,
  inboundFileMessage,
  inboundImageMessage,
  inboundTextMessage,
  inboundVideoMessage,
  type InboundMessage,
} from "../../schema/inbound.js";
import { invalidConfig } from "./client-options.js";

/** What a caller without types may hand over in place of a message. */
interface MessageLike {
  event?: unknown;
  attachments?: { file_type?: unknown }[] | null;
  conversation_id?: unknown;
  sender?: { id?: unknown } | null;
}

const OF_FILE_TYPE = new Map<unknown, z.ZodType<InboundMessage>>([
  ["image", inboundImageMessage],
  ["audio", inboundAudioMessage],
  ["video", inboundVideoMessage],
  ["file", inboundFileMessage],
]);

/**
 * Checks a message against its shape of section 4.2. Throws `invalid_config` naming the fields that are wrong, by the names
 * that the caller knows, and none of their values.
 */
export function checkMessage(message: unknown, nameOf = (field: string): string => field): InboundMessage {
  const schema = schemaOf(message ?? {});
  if (typeof schema === "string") throw invalidConfig("message", [schema], "message");
  const parsed = schema.safeParse(message);
  if (parsed.success) return parsed.data;
  const flaws = parsed.error.issues.map(({ path, message: flaw }) =>
    path.length === 0 ? flaw : `${nameOf(path.join("."))}: ${flaw}`,
  );
  throw invalidConfig("message", [...new Set(flaws)], "message");
}

/** The one shape that a message means to have: the union of all would name no field. A text says why there is none. */
function schemaOf({ event, attachments }: MessageLike): z.ZodType<InboundMessage> | string {
  if (event === "message_postback") return inboundButtonMessage;
  if (event !== undefined && event !== "message_created") {
    return "event: expected message_created or message_postback";
  }
  if (attachments === undefined) return inboundTextMessage;
  return (
    OF_FILE_TYPE.get(attachments?.[0]?.file_type) ??
    "attachments: expected a list of one, with the file_type image, audio, video or file"
  );
}

/** Tells conversations apart (section 2.3); also for what is no message, which then fails its check. */
export const conversationOf = (message: MessageLike | null | undefined): string =>
  `${String(message?.conversation_id)} ${String(message?.sender?.id)}`;
