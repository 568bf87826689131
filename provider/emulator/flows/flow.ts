import * as z from "zod";
import type { InboundMessage } from "../../../schema/inbound.js";
import type { MediaKind } from "../../../schema/message-kind.js";
import {
  outboundButtonTemplate,
  outboundGenericTemplate,
  outboundMedia,
  outboundText,
} from "../../../schema/outbound.js";

/** What the emulator fills in: whom a reply is for. */
const addressed = { sender_id: true, conv_id: true, message_type: true, private: true } as const;

/** Waited for after the reply before it, in milliseconds. Default 0. */
const delayMs = z
  .number()
  .min(0)
  .max(24 * 60 * 60 * 1000, "must be at most 86400000 (a day)")
  .optional();

/** A reply of any of the seven kinds (section 2.4), without the fields that every delivery has. */
export const flowReply = z.discriminatedUnion(
  "type",
  [
    z.discriminatedUnion(
      "content_type",
      [
        outboundText.omit(addressed).extend({ delayMs }).strict(),
        outboundButtonTemplate.omit(addressed).extend({ delayMs }).strict(),
        outboundGenericTemplate.omit(addressed).extend({ delayMs }).strict(),
      ],
      { error: "must be button_template, generic_template, or left out for a text" },
    ),
    outboundMedia.omit(addressed).extend({ delayMs }).strict(),
  ],
  { error: "must be text, image, audio, video or file" },
);

/** One reply of a flow. `delayMs` is waited for after the reply before it; default 0. */
export type FlowReply = z.infer<typeof flowReply>;

type WithoutDelay<Reply> = Reply extends unknown ? Omit<Reply, "delayMs"> : never;

/** What a reply says. */
export type ReplyContent = WithoutDelay<FlowReply>;

/** What a flow is asked with. */
export interface FlowContext {
  /** The name of the workspace. */
  workspace: string;
  /** The message to answer. */
  message: InboundMessage;
  /** How many messages the contact had sent in this conversation before this one. */
  messagesBefore: number;
  /** URLs of small media that the emulator serves itself, for replies that show any. */
  samples: Readonly<Record<MediaKind, string>>;
}

/** What replies to a contact's message: an empty list is silence. A function that throws replies nothing and is reported. */
export type Flow = (context: FlowContext) => readonly FlowReply[] | Promise<readonly FlowReply[]>;

/** The payload of the button that was pressed; undefined if none was. */
export function payloadOf(message: InboundMessage): string | undefined {
  return "submitted_values" in message ? message.submitted_values[0].payload : undefined;
}
