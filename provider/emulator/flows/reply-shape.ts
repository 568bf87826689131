import * as z from "zod";
import {
  outboundAudio,
  outboundButtonTemplate,
  outboundFile,
  outboundGenericTemplate,
  outboundImage,
  outboundText,
  outboundVideo,
} from "../../../schema/index.js";

/** What the emulator fills in. */
const addressed = { sender_id: true, conv_id: true, message_type: true, private: true } as const;

const delayMs = z
  .number()
  .min(0)
  .max(24 * 60 * 60 * 1000, "must be at most 86400000 (a day)")
  .optional();

/** zod schema of FlowReply: a reply of any of the seven kinds (section 2.4), with the pause before it. Strict. */
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
    outboundImage.omit(addressed).extend({ delayMs }).strict(),
    outboundAudio.omit(addressed).extend({ delayMs }).strict(),
    outboundVideo.omit(addressed).extend({ delayMs }).strict(),
    outboundFile.omit(addressed).extend({ delayMs }).strict(),
  ],
  { error: "must be text, image, audio, video or file" },
);
