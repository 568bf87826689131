import type { OutboundMessage } from "pulumi-apichat/schema";
import type { Page } from "playwright-core";

/** A message of the chat as the page shows it: its author and kind, then every text and address in order. */
export type Shown = string[];

/** Reads all messages of the open conversation at once, because the page removes a medium that cannot be loaded. */
export function shownMessages(page: Page): Promise<Shown[]> {
  return page.getByTestId("message").evaluateAll((articles) =>
    articles.map((article) => {
      const parts = article.querySelectorAll(
        ".words, .card strong, .card small, [data-testid=postback], img, audio, video, a",
      );
      const shown = [...parts].map(
        (part) => part.getAttribute("src") ?? part.getAttribute("href") ?? part.innerText,
      );
      return [article.dataset["from"], article.dataset["kind"], ...shown];
    }),
  );
}

/** The texts and addresses that the page must show for a message that an endpoint received. */
export function shownAs(from: "flow" | "agent", message: OutboundMessage): Shown {
  if ("url" in message) {
    const addresses = message.type === "file" ? [message.url] : [message.url, message.url];
    return [from, message.type, ...addresses];
  }
  if (message.content_type === "button_template") {
    const { text, buttons } = message.content_attributes;
    return [from, message.content_type, text, ...buttons.map(({ title }) => title)];
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
    return [from, message.content_type, message.text, ...cards];
  }
  return [from, "text", message.text];
}
