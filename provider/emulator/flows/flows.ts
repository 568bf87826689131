import { MEDIA_KINDS, type MediaKind } from "../../../schema/message-kind.js";
import type { Button, GenericTemplateItem } from "../../../schema/outbound.js";
import { parseOptions } from "../usage-errors.js";
import type { Reading } from "../open-point-options.js";
import { payloadOf, type Flow, type FlowReply } from "./flow.js";
import { flowOfScenario, scenario, type Scenario } from "./scenario.js";

/**
 * Returns all flows by name: the built-in `echo`, `menu` and `silent`, and those of the options, which may
 * replace them. Throws `invalid_config` with the wrong field of a scenario.
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
  for (const [name, given] of Object.entries(named)) {
    const isFlow = typeof given === "function";
    flows.set(name, isFlow ? given : flowOfScenario(parseOptions(`flows.${name}`, scenario, given)));
  }
  return flows;
}

/** Returns the name of the flow that an option chooses. A function is added to the flows as `custom-` and its owner. */
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

/** Repeats the text, the title of the pressed button, or the media. */
const echo: Flow = ({ message }) => {
  if ("attachments" in message) {
    const [{ file_type: type, data_url: url }] = message.attachments;
    return [{ type, url }];
  }
  const pressed = message.event === "message_postback";
  return [{ type: "text", text: pressed ? `You pressed ${message.content}` : message.content }];
};

type Samples = Readonly<Record<MediaKind, string>>;

/** Replies to everything with a button template; its buttons lead to the other six kinds. */
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

function makeMenu(): FlowReply {
  const text = "What would you like to see?";
  const buttons = ["Text", "Carousel", "Image", "Audio", "Video", "File"].map((title) =>
    makeButton(title, title.toLowerCase()),
  );
  return { type: "text", text, content_type: "button_template", content_attributes: { text, buttons } };
}

function makeCarousel(samples: Samples, defaultAction: Reading<"defaultAction">): FlowReply {
  const items = [1, 2, 3].map((number) => makeCard(number, samples, defaultAction));
  return {
    type: "text",
    text: "Three cards",
    content_type: "generic_template",
    content_attributes: { ratio: "horizontal", items },
  };
}

/** The specification does not define `default_action`: the reading `url` is a guess. */
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
