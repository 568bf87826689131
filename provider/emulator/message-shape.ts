import type * as z from "zod";
import { inboundKindOf, inboundShapes, type InboundMessage } from "../../schema/index.js";
import { refuseFields } from "./refusal.js";
import { parseBody } from "./request-body.js";
import type { SenderFields } from "./switches.js";

/** A message of one of the six operations (section 4.2); else 422 naming the fields of the operation that was meant. */
export function readMessage(body: object, senderFields: SenderFields): InboundMessage {
  const message = parseBody(shapeOf(body), body);
  if (senderFields === "required") assertSenderIsWhole(message);
  return message;
}

/** The operations differ only by body. */
function shapeOf(body: object): z.ZodType<InboundMessage> {
  const kind = inboundKindOf(body);
  if (kind !== undefined) return inboundShapes[kind];
  const { event, attachments } = body as { event?: unknown; attachments?: unknown };
  if (event !== "message_created") {
    throw refuseFields({ event: ['must be "message_created" or "message_postback"'] });
  }
  const first: unknown = Array.isArray(attachments) ? attachments[0] : undefined;
  // Without a first entry any of the four says the same of the rest.
  if (typeof first !== "object" || first === null) return inboundShapes.image;
  throw refuseFields({ "attachments.0.file_type": ['must be "image", "audio", "video" or "file"'] });
}

function assertSenderIsWhole({ sender }: InboundMessage): void {
  const missing = (["email", "phone_number"] as const).filter((field) => sender[field] === undefined);
  if (missing.length === 0) return;
  throw refuseFields(
    Object.fromEntries(missing.map((field) => [`sender.${field}`, ["is missing; must be an empty text"]])),
  );
}
