import type { MessageView } from "../../control/shapes.js";
import { clockOf, t } from "../i18n/translate.js";
import { contentOf, type MessageContent } from "../message-content.js";
import { data } from "../store.js";
import { visibleText } from "../untrusted.js";
import { keyOf } from "../wire.js";
import { Media } from "./media.js";
import { Carousel, PostbackButtons } from "./templates.js";
import { Text } from "./text.js";

/** One message: who, what, when, and for a reply the state of its delivery. */
export function Message({ message }: { message: MessageView }) {
  const { from, at } = message;
  const content = contentOf(message.body);
  return (
    <article class={`message from-${from}`} data-testid="message" data-from={from} data-kind={content.kind}>
      <div class="bubble">
        <Content content={content} />
      </div>
      <small>
        <strong>{t(`chat.from.${from}`)}</strong> <time dateTime={at}>{clockOf(at)}</time>{" "}
        {from !== "contact" && <DeliveryState delivery={message.delivery} />}
      </small>
    </article>
  );
}

function Content({ content }: { content: MessageContent }) {
  switch (content.kind) {
    case "text":
      return <Words>{content.text}</Words>;
    case "postback":
      return (
        <>
          <Words>{content.title}</Words>
          <small>
            {t("chat.pressed")}: <Text>{t("chat.payload", { payload: content.payload })}</Text>
          </small>
        </>
      );
    case "media":
      return <Media media={content.media} url={content.url} />;
    case "buttons":
      return (
        <>
          <Words>{content.text}</Words>
          <PostbackButtons buttons={content.buttons} />
        </>
      );
    case "cards":
      return (
        <>
          {content.text !== "" && <Words>{content.text}</Words>}
          <Carousel cards={content.cards} />
        </>
      );
    case "unknown":
    default:
      return (
        <>
          <small>{t("media.unknown")}</small>
          <pre>{visibleText(content.json)}</pre>
        </>
      );
  }
}

function Words({ children }: { children: string }) {
  return (
    <p class="words" dir="auto">
      {visibleText(children)}
    </p>
  );
}

function DeliveryState({ delivery }: { delivery: string | null }) {
  if (delivery === null) return <span class="bad">{t("chat.undelivered")}</span>;
  const exchange = data.value.exchanges.get(keyOf("delivery", delivery));
  if (exchange?.kind !== "delivery") return null;
  const { verdict } = exchange.record;
  return <span class={verdict === "failed" ? "bad" : undefined}>{t(`chat.${verdict}`)}</span>;
}
