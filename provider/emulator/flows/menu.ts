import { MEDIA_KINDS, type Button, type GenericTemplateItem, type MediaKind } from "../../../schema/index.js";
import type { DefaultAction } from "../switches.js";
import type { Flow, FlowReply } from "./flow.js";
import { payloadOf } from "./payload.js";

type Samples = Readonly<Record<MediaKind, string>>;

/** Answers everything with a button template; its buttons give each of the other six kinds. */
export function createMenu(defaultAction: DefaultAction): Flow {
  return ({ message, samples }) => {
    const payload = payloadOf(message);
    const media = MEDIA_KINDS.find((kind) => kind === payload);
    if (media) return [{ type: media, url: samples[media] }];
    if (payload === "text") return [{ type: "text", text: "This is a text." }];
    if (payload === "carousel") return [makeCarousel(samples, defaultAction)];
    const chosen = /^choose-(\d)$/.exec(payload ?? "")?.[1];
    return chosen === undefined ? [makeMenu()] : [{ type: "text", text: `You chose card ${chosen}.` }];
  };
}

const BUTTONS: readonly Button[] = [
  makeButton("Text", "text"),
  makeButton("Carousel", "carousel"),
  makeButton("Image", "image"),
  makeButton("Audio", "audio"),
  makeButton("Video", "video"),
  makeButton("File", "file"),
];

function makeMenu(): FlowReply {
  const text = "What would you like to see?";
  return {
    type: "text",
    text,
    content_type: "button_template",
    content_attributes: { text, buttons: [...BUTTONS] },
  };
}

function makeCarousel(samples: Samples, defaultAction: DefaultAction): FlowReply {
  return {
    type: "text",
    text: "Three cards",
    content_type: "generic_template",
    content_attributes: {
      ratio: "horizontal",
      items: [1, 2, 3].map((number) => makeCard(number, samples, defaultAction)),
    },
  };
}

/** The structure of `default_action` is not in the specification: the reading `url` is a guess. */
function makeCard(number: number, { image, file }: Samples, reading: DefaultAction): GenericTemplateItem {
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
