import { MEDIA_KINDS, type MediaKind } from "../../../schema/message-kind.js";
import type { Button, GenericTemplateItem } from "../../../schema/outbound.js";
import { parseOptions } from "../errors.js";
import type { Reading } from "../switches.js";
import { payloadOf, type Flow, type FlowReply } from "./flow.js";
import { flowOfScenario, scenario, type Scenario } from "./scenario.js";

/**
 * All flows that a workspace can choose, by name: the built-in `echo`, `menu` and `silent`, and those of the options, which
 * may replace them. Throws `invalid_config` naming the field of a scenario that is wrong.
 */
export function createFlows(
  named: Record<string, Scenario | Flow>,
  { defaultAction }: { defaultAction: Reading<"defaultAction"> },
): Map<string, Flow> {
  const flows = new Map<string, Flow>([
    ["echo", echo],
    ["menu", createMenu(defaultAction)],
    ["silent", () => []],
  ]);
  for (const [name, flow] of Object.entries(named)) {
    flows.set(
      name,
      typeof flow === "function" ? flow : flowOfScenario(parseOptions(`flows.${name}`, scenario, flow)),
    );
  }
  return flows;
}

/** The name of what an option chooses; a function is added to the flows as `custom-` and for whom it is. */
export function flowNameOf(
  flows: Map<string, Flow>,
  chosen: string | Flow | undefined,
  { for: owner, otherwise }: { for: string; otherwise: string },
): string {
  if (typeof chosen !== "function") return chosen ?? otherwise;
  const name = `custom-${owner}`;
  flows.set(name, chosen);
  return name;
}

/** Sends the same back: the text, which button was pressed, or media of the same kind and URL. */
const echo: Flow = ({ message }) => {
  if ("attachments" in message) {
    const [{ file_type: type, data_url: url }] = message.attachments;
    return [{ type, url }];
  }
  const pressed = message.event === "message_postback";
  return [{ type: "text", text: pressed ? `You pressed ${message.content}` : message.content }];
};

type Samples = Readonly<Record<MediaKind, string>>;

/** Answers everything with a button template; its buttons give each of the other six kinds. */
function createMenu(defaultAction: Reading<"defaultAction">): Flow {
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

function makeCarousel(samples: Samples, defaultAction: Reading<"defaultAction">): FlowReply {
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
function makeCard(
  number: number,
  { image, file }: Samples,
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
