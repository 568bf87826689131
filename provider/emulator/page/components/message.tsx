import { useSignal } from "@preact/signals";
import type { MediaKind } from "../../../../schema/message-kind.js";
import type { Button, GenericTemplateItem } from "../../../../schema/outbound.js";
import type { MessageRecord } from "../../state.js";
import { pressAsContact, showDelivery } from "../actions.js";
import { timeOf } from "../times.js";
import { kindOf } from "../wire.js";
import { attempt } from "../errors.js";
import { party } from "../store.js";
import { Link, safeUrl, Text, visibleText } from "./untrusted.js";

export const AUTHORS = { contact: "Contact", flow: "Flow", agent: "Agent" } as const;

export function Message({ message }: { message: MessageRecord }) {
  const { from, at, body } = message;
  return (
    <article class={`message from-${from}`} data-testid="message" data-from={from} data-kind={kindOf(body)}>
      <div class="bubble">
        <Content body={body} />
      </div>
      <small>
        <strong>{AUTHORS[from]}</strong> <time dateTime={at}>{timeOf(at)}</time>{" "}
        {from !== "contact" && <DeliveryState {...message} />}
      </small>
    </article>
  );
}

function Content({ body }: Pick<MessageRecord, "body">) {
  if (kindOf(body) === "unknown") return <pre>{visibleText(JSON.stringify(body, null, 2))}</pre>;
  if ("submitted_values" in body) {
    const [{ title, payload }] = body.submitted_values;
    return (
      <>
        <Words>{title}</Words>
        <small>
          pressed a button: payload <Text>{payload}</Text>
        </small>
      </>
    );
  }
  if ("attachments" in body) {
    const [{ file_type: kind, data_url: url }] = body.attachments;
    return <Media kind={kind} url={url} />;
  }
  if ("content" in body) return <Words>{body.content}</Words>;
  if ("url" in body) return <Media kind={body.type} url={body.url} />;
  if (body.content_type === "button_template") {
    const { text, buttons } = body.content_attributes;
    return (
      <>
        <Words>{text || body.text}</Words>
        <PostbackButtons buttons={buttons} />
      </>
    );
  }
  if (body.content_type === "generic_template") {
    return (
      <>
        <Words>{body.text}</Words>
        <ul class="vstack gap-2" aria-label="Cards">
          {body.content_attributes.items.map((card, index) => (
            <CardItem key={index} card={card} />
          ))}
        </ul>
      </>
    );
  }
  return <Words>{body.text}</Words>;
}

function Words({ children }: { children: string }) {
  return (
    <p class="words" dir="auto">
      {visibleText(children)}
    </p>
  );
}

const VERDICTS = { pending: "being delivered", delivered: "delivered", failed: "delivery failed" } as const;

/** A link to the delivery in the wire panel. */
function DeliveryState({ delivery, verdict: known }: Pick<MessageRecord, "delivery" | "verdict">) {
  if (delivery === null) return <span class="bad">not delivered: no webhook registered</span>;
  const verdict = known ?? "pending";
  return (
    <button
      type="button"
      class={`ghost link ${verdict === "failed" ? "bad" : ""}`}
      title="Show the delivery"
      onClick={() => void attempt(() => showDelivery(delivery))}
    >
      {VERDICTS[verdict]}
    </button>
  );
}

/** A picture or player with a link, or the link alone. */
function Media({ kind, url }: { kind: MediaKind; url: string }) {
  const broken = useSignal(false);
  const safe = safeUrl(url);
  const link = <Link url={url} />;
  if (safe === null || kind === "file") return link;
  if (broken.value) {
    return (
      <p>
        <small>Could not be loaded:</small> {link}
      </p>
    );
  }
  const props = { src: safe, onError: () => (broken.value = true) };
  const player = { ...props, controls: true, preload: "metadata", "aria-label": kind } as const;
  return (
    <figure>
      {kind === "image" && <img {...props} alt={kind} referrerpolicy="no-referrer" />}
      {kind === "audio" && <audio {...player} />}
      {kind === "video" && <video {...player} />}
      {link}
    </figure>
  );
}

/** The buttons of a template. Pressing one sends its title and payload as the contact. */
function PostbackButtons({ buttons }: { buttons: readonly Button[] }) {
  const current = party.value;
  return (
    <div class="vstack gap-2">
      {buttons.map((button, index) => (
        <button
          key={index}
          type="button"
          class="ghost postback"
          title={`payload ${button.payload}`}
          onClick={() => void attempt(async () => current && pressAsContact(current, button))}
          data-testid="postback"
        >
          {visibleText(button.title || "untitled")}
        </button>
      ))}
    </div>
  );
}

function CardItem({ card }: { card: GenericTemplateItem }) {
  const { title, subtitle, image_url, item_url, buttons } = card;
  const picture = safeUrl(image_url);
  return (
    <li class="card vstack gap-2">
      {picture !== null && <img src={picture} alt="" referrerpolicy="no-referrer" />}
      {picture === null && image_url !== "" && <Link url={image_url} />}
      <strong dir="auto">{visibleText(title)}</strong>
      <small dir="auto">{visibleText(subtitle)}</small>
      {item_url && <Link url={item_url} />}
      <PostbackButtons buttons={buttons} />
    </li>
  );
}
