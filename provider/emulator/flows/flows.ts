import * as z from "zod";
import type { InboundMessage } from "../../../schema/inbound.js";
import { MEDIA_KINDS, type MediaKind } from "../../../schema/message-kind.js";
import {
  outboundButtonTemplate,
  outboundGenericTemplate,
  outboundMedia,
  outboundText,
  type Button,
  type GenericTemplateItem,
} from "../../../schema/outbound.js";
import type { FLOW_NAMES } from "../names.js";
import type { Reading } from "../open-point-options.js";

/** The fields that the emulator sets itself. */
const addressed = { sender_id: true, conv_id: true, message_type: true, private: true } as const;

/** A reply of any of the seven kinds (section 2.4), without the fields common to all. */
export const flowReply = z.discriminatedUnion(
  "type",
  [
    z.discriminatedUnion(
      "content_type",
      [
        outboundText.omit(addressed).strict(),
        outboundButtonTemplate.omit(addressed).strict(),
        outboundGenericTemplate.omit(addressed).strict(),
      ],
      { error: "must be button_template, generic_template, or omitted for a text" },
    ),
    outboundMedia.omit(addressed).strict(),
  ],
  { error: "must be text, image, audio, video or file" },
);

/** One reply of a flow. */
export type FlowReply = z.infer<typeof flowReply>;

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
 * Returns the replies to a contact's message, if any. If it throws, nothing is sent and `flow-failed`
 * is reported.
 */
export type Flow = (context: FlowContext) => readonly FlowReply[] | Promise<readonly FlowReply[]>;

type BuiltInFlow = (context: FlowContext, defaultAction: Reading<"defaultAction">) => FlowReply[];

export const builtInFlows: Record<(typeof FLOW_NAMES)[number], BuiltInFlow> = {
  echo,
  menu,
  silent: () => [],
};

/** Repeats the text, the title of the pressed button, or the media. */
function echo({ message }: FlowContext): FlowReply[] {
  if ("attachments" in message) {
    const [{ file_type: type, data_url: url }] = message.attachments;
    return [{ type, url }];
  }
  const pressed = message.event === "message_postback";
  return [{ type: "text", text: pressed ? `You pressed ${message.content}` : message.content }];
}

/** Replies with a button template. If one of its buttons is pressed, replies with one of the other six kinds. */
function menu({ message, samples }: FlowContext, defaultAction: Reading<"defaultAction">): FlowReply[] {
  const payload = "submitted_values" in message ? message.submitted_values[0].payload : "";
  const media = MEDIA_KINDS.find((kind) => kind === payload);
  if (media) return [{ type: media, url: samples[media] }];
  if (payload === "text") return [{ type: "text", text: "This is a text." }];
  if (payload === "carousel") return [makeCarousel(samples, defaultAction)];
  const chosen = /^choose-(\d)$/.exec(payload)?.[1];
  return chosen === undefined ? [makeMenu()] : [{ type: "text", text: `You chose card ${chosen}.` }];
}

function makeMenu(): FlowReply {
  const text = "What would you like to see?";
  const buttons = ["Text", "Carousel", "Image", "Audio", "Video", "File"].map((title) =>
    makeButton(title, title.toLowerCase()),
  );
  return { type: "text", text, content_type: "button_template", content_attributes: { text, buttons } };
}

function makeCarousel(samples: FlowContext["samples"], defaultAction: Reading<"defaultAction">): FlowReply {
  const items = [1, 2, 3].map((number) => makeCard(number, samples, defaultAction));
  return {
    type: "text",
    text: "Three cards",
    content_type: "generic_template",
    content_attributes: { ratio: "horizontal", items },
  };
}

/** The specification does not define `default_action`, so the reading `url` is a guess. */
function makeCard(
  number: number,
  { image, file }: FlowContext["samples"],
  reading: Reading<"defaultAction">,
): GenericTemplateItem {
  return {
    title: `Card ${number}`,
    image_url: image,
    item_url: reading === "url" ? file : null,
    subtitle: `The card with number ${number}`,
    default_action: reading === "url" ? { type: "web_url", url: file } : null,
    buttons: [makeButton(`Choose ${number}`, `choose-${number}`), makeButton("Menu", "menu")],
  };
}

function makeButton(title: string, payload: string): Button {
  return { type: "postback", title, payload };
}
