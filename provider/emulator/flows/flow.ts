import * as z from "zod";
import type { InboundMessage } from "../../../schema/inbound.js";
import type { MediaKind } from "../../../schema/message-kind.js";
import {
  outboundButtonTemplate,
  outboundGenericTemplate,
  outboundMedia,
  outboundText,
} from "../../../schema/outbound.js";

/** The fields that the emulator sets itself. */
const addressed = { sender_id: true, conv_id: true, message_type: true, private: true } as const;

const timed = {
  /** Time since the previous reply, in milliseconds. Default 0. */
  delayMs: z
    .number()
    .min(0)
    .max(24 * 60 * 60 * 1000, "must be at most 86400000 (a day)")
    .optional(),
};

/** A reply of any of the seven kinds (section 2.4), without the fields common to all. */
export const flowReply = z.discriminatedUnion(
  "type",
  [
    z.discriminatedUnion(
      "content_type",
      [
        outboundText.omit(addressed).extend(timed).strict(),
        outboundButtonTemplate.omit(addressed).extend(timed).strict(),
        outboundGenericTemplate.omit(addressed).extend(timed).strict(),
      ],
      { error: "must be button_template, generic_template, or left out for a text" },
    ),
    outboundMedia.omit(addressed).extend(timed).strict(),
  ],
  { error: "must be text, image, audio, video or file" },
);

/** One reply of a flow. */
export type FlowReply = z.infer<typeof flowReply>;

type WithoutDelay<Reply> = Reply extends unknown ? Omit<Reply, "delayMs"> : never;

/** The content of a reply. */
export type ReplyContent = WithoutDelay<FlowReply>;

/** The argument of a flow. */
export interface FlowContext {
  /** The name of the workspace. */
  workspace: string;
  /** The message to reply to. */
  message: InboundMessage;
  /** URLs of small media that the emulator serves itself. */
  samples: Readonly<Record<MediaKind, string>>;
}

/**
 * Replies to a contact's message, or returns an empty list. If it throws, nothing is sent and `flow-failed`
 * is reported.
 */
export type Flow = (context: FlowContext) => readonly FlowReply[] | Promise<readonly FlowReply[]>;

/** Returns the payload of the pressed button; undefined if none was pressed. */
export function payloadOf(message: InboundMessage): string | undefined {
  return "submitted_values" in message ? message.submitted_values[0].payload : undefined;
}
