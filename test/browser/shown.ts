import type { OutboundMessage } from "pulumi-apichat/schema";
import type { Locator, Page } from "playwright-core";

/** A message of the chat as the page shows it: who wrote it, its kind, then every text and address in order. */
export type Shown = string[];

const PARTS = [
  ".words",
  ".card strong",
  ".card-words > .muted",
  "[data-testid=postback]",
  "img, audio, video, a",
];

/** All messages of the open conversation. */
export async function shownMessages(page: Page): Promise<Shown[]> {
  const articles = await page.getByTestId("message").all();
  return Promise.all(articles.map(describe));
}

async function describe(article: Locator): Promise<Shown> {
  const parts = await article.locator(PARTS.join(", ")).all();
  return Promise.all([
    attribute(article, "data-from"),
    attribute(article, "data-kind"),
    ...parts.map(textOrAddress),
  ]);
}

async function textOrAddress(part: Locator): Promise<string> {
  const address = (await part.getAttribute("src")) ?? (await part.getAttribute("href"));
  return address ?? (await part.innerText());
}

async function attribute(element: Locator, name: string): Promise<string> {
  return (await element.getAttribute(name)) ?? "";
}

/** What the page must show of a message that an endpoint received. */
export function shownAs(from: "flow" | "agent", message: OutboundMessage): Shown {
  if ("url" in message) {
    const addresses = message.type === "file" ? [message.url] : [message.url, message.url];
    return [from, "media", ...addresses];
  }
  if (message.content_type === "button_template") {
    const { text, buttons } = message.content_attributes;
    return [from, "buttons", text, ...buttons.map(({ title }) => title)];
  }
  if (message.content_type === "generic_template") {
    const cards = message.content_attributes.items.flatMap(
      ({ image_url, title, subtitle, item_url, buttons }) => [
        image_url,
        title,
        subtitle,
        ...(typeof item_url === "string" ? [item_url] : []),
        ...buttons.map((button) => button.title),
      ],
    );
    return [from, "cards", message.text, ...cards];
  }
  return [from, "text", message.text];
}
