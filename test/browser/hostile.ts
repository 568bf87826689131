import type { Flow } from "pulumi-apichat/emulator";
import { ALARM } from "./harness.ts";

/** Texts that would call the alarm if the page used one as markup, an attribute, a template or an address. */
const TEXTS = [
  `<img src=x onerror="${ALARM}('img')">`,
  `<script>${ALARM}('script')</script>`,
  `"><svg onload="${ALARM}('svg')">`,
  `' onfocus='${ALARM}(1)' autofocus='`,
  `</textarea></title></style><iframe srcdoc="<script>parent.${ALARM}('iframe')</script>"></iframe>`,
  `<a href="javascript:${ALARM}('link')">x</a>`,
  `{{constructor.constructor('${ALARM}(1)')()}}`,
  `\${${ALARM}('template')}`,
];

/** All these texts in one string, for every place that accepts any text. */
export const HOSTILE = TEXTS.join(" ");

/** Addresses that must stay text. */
export const HOSTILE_ADDRESSES = [
  `javascript:${ALARM}('address')`,
  `JaVaScRiPt:${ALARM}('case')`,
  `java\tscript:${ALARM}('tab')`,
  ` javascript:${ALARM}('space')`,
  `data:text/html,<script>parent.${ALARM}('data')</script>`,
  `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="${ALARM}('svg')"/>`,
  `vbscript:${ALARM}(1)`,
  "file:///etc/passwd",
  "blob:http://127.0.0.1/0",
  "//127.0.0.1/relative",
  "/_emulator/relative",
  "http:relative",
];

/** A valid address with a quotation mark, which would end an attribute if it were not escaped. */
export const hostilePath = (origin: string): string => `${origin}/"><svg/onload="${ALARM}('path')">.png`;

/** Throws for "fail"; replies with a text to "once more", and with all seven kinds to the first other message. */
export function hostileFlow(address: string): Flow {
  const buttons = [{ type: "postback", title: HOSTILE, payload: HOSTILE }];
  const card = { title: HOSTILE, subtitle: HOSTILE, image_url: address, item_url: address, buttons };
  const items = [{ ...card, default_action: { type: HOSTILE, url: HOSTILE } }, card];
  const text = { type: "text", text: HOSTILE } as const;
  let isFirst = true;
  return ({ message }) => {
    if (message.content === "fail") throw new Error(HOSTILE);
    if (message.content === "once more") return [text];
    if (!isFirst) return [];
    isFirst = false;
    return [
      text,
      { ...text, content_type: "button_template", content_attributes: { text: HOSTILE, buttons } },
      { ...text, content_type: "generic_template", content_attributes: { ratio: HOSTILE, items } },
      { type: "image", url: address },
      { type: "audio", url: address },
      { type: "video", url: address },
      { type: "file", url: address },
    ];
  };
}

/** Returns messages in the control API's form, with this address in every field that can contain one. */
export function messagesWith(address: string, index: number): object[] {
  const kinds = ["image", "audio", "video", "file"];
  const card = { title: HOSTILE, subtitle: HOSTILE, image_url: address, item_url: address };
  const button = { type: address, title: HOSTILE, payload: address, url: address };
  const items = [{ ...card, default_action: { type: "web_url", url: address }, buttons: [button] }];
  const incoming = { message_type: "incoming", event: "message_created", content: "" };
  const bodies = [
    ...kinds.map((type) => ({ type, url: address })),
    ...kinds.map((file_type) => ({ ...incoming, attachments: [{ file_type, data_url: address }] })),
    { type: "text", text: HOSTILE, content_type: "generic_template", content_attributes: { items } },
  ];
  const common = { at: new Date(0).toISOString(), workspace: "acme", conversation: "any", from: "flow" };
  return bodies.map((body, place) => {
    return { ...common, id: `${index}-${place}`, order: index * 100 + place, body, delivery: null };
  });
}

/** How the page's own addresses begin. */
const OWN = ["http://", "https://", "./requests/", "./handshakes/", "./deliveries/"];

/**
 * Elements, handlers and addresses that the page never creates itself: if one exists, a text has become markup. For
 * handlers and scripts that are not listed here, the browser reports a violation of the page's policy.
 */
export const INTRUDERS = [
  "script, iframe, object, embed, style, link, base, meta, template, math",
  "[onload], [onerror], [onfocus], [action], [formaction], [srcdoc], [data], [poster], [xlink\\:href]",
  ...["href", "src"].map(
    (name) =>
      `[${name}]:not(${OWN.map((start) => `[${name}^="${start}"]`).join()}, [href="#chat"], [href="#wire"])`,
  ),
  "a[target=_blank]:not([rel='noopener noreferrer'])",
].join(", ");
