import type { MessageView } from "../../control/shapes.js";
import { clockOf, t } from "../i18n/translate.js";
import { contentOf, type MessageContent } from "../message-content.js";
import { data } from "../store.js";
import { visibleText } from "../visible-text.js";
import { Carousel } from "./carousel.js";
import { Media } from "./media.js";
import { PostbackButtons } from "./postback-buttons.js";
import { Text } from "./text.js";

/** One message: who, what, when, and for a reply what became of its delivery. */
export function Message({ message }: { message: MessageView }) {
  const { from, at } = message;
  const content = contentOf(message.body);
  return (
    <article class={`message from-${from}`} data-testid="message" data-from={from} data-kind={content.kind}>
      <div class={content.kind === "cards" ? "bubble wide" : "bubble"}>
        <Content content={content} />
      </div>
      <footer class="message-foot">
        <span class="who">{t(`chat.from.${from}`)}</span>
        <time dateTime={at}>{clockOf(at)}</time>
        {from !== "contact" && <DeliveryState delivery={message.delivery} />}
      </footer>
    </article>
  );
}

function Content({ content }: { content: MessageContent }) {
  switch (content.kind) {
    case "text":
      return <Paragraph>{content.text}</Paragraph>;
    case "postback":
      return (
        <>
          <Paragraph>{content.title}</Paragraph>
          <small class="muted">
            {t("chat.pressed")}: <Text>{t("chat.payload", { payload: content.payload })}</Text>
          </small>
        </>
      );
    case "media":
      return <Media media={content.media} url={content.url} />;
    case "buttons":
      return (
        <>
          <Paragraph>{content.text}</Paragraph>
          <PostbackButtons buttons={content.buttons} />
        </>
      );
    case "cards":
      return (
        <>
          {content.text !== "" && <Paragraph>{content.text}</Paragraph>}
          <Carousel cards={content.cards} />
        </>
      );
    case "unknown":
    default:
      return (
        <>
          <small class="muted">{t("media.unknown")}</small>
          <pre class="raw">{visibleText(content.json)}</pre>
        </>
      );
  }
}

function Paragraph({ children }: { children: string }) {
  return (
    <p class="words" dir="auto">
      {visibleText(children)}
    </p>
  );
}

function DeliveryState({ delivery }: { delivery: string | null }) {
  if (delivery === null) return <span class="warn-text">{t("chat.undelivered")}</span>;
  const verdict = data.value.deliveries.get(delivery)?.verdict;
  if (verdict === undefined) return null;
  return <span class={verdict === "failed" ? "bad-text" : undefined}>{t(`chat.${verdict}`)}</span>;
}
