import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { MessageView } from "../../control/shapes.js";
import { sendAsContact } from "../actions.js";
import { clockOf, t } from "../i18n/translate.js";
import { contentOf, KIND_NAMES, type Card, type MessageContent, type PostbackButton } from "../messages.js";
import { attempt } from "../notices.js";
import { data, party, workspace } from "../store.js";
import { keyOf } from "../wire.js";
import { Tool } from "./buttons.js";
import { fileNameOf, Link, safeUrl, Text, visibleText } from "./untrusted.js";

/** What the page calls those who write. */
export const AUTHORS = { contact: "Contact", flow: "Flow", agent: "Agent" } as const;

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
        <strong>{t(AUTHORS[from])}</strong> <time dateTime={at}>{clockOf(at)}</time>{" "}
        {from !== "contact" && <DeliveryState delivery={message.delivery} />}
      </small>
    </article>
  );
}

function Content({ content }: { content: MessageContent }) {
  if ("url" in content) return <Media {...content} />;
  switch (content.kind) {
    case "text":
      return <Words>{content.text}</Words>;
    case "button":
      return (
        <>
          <Words>{content.title}</Words>
          <small>
            {t("pressed a button")}: <Text>{t("payload {payload}", { payload: content.payload })}</Text>
          </small>
        </>
      );
    case "button_template":
      return (
        <>
          <Words>{content.text}</Words>
          <PostbackButtons buttons={content.buttons} />
        </>
      );
    case "generic_template":
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
          <small>{t("Unknown kind of message:")}</small>
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

const VERDICTS = { pending: "being delivered", delivered: "delivered", failed: "delivery failed" } as const;

function DeliveryState({ delivery }: { delivery: string | null }) {
  if (delivery === null) return <span class="bad">{t("not delivered: no webhook registered")}</span>;
  const exchange = data.value.exchanges.get(keyOf("delivery", delivery));
  if (exchange?.kind !== "delivery") return null;
  const { verdict } = exchange.record;
  return <span class={verdict === "failed" ? "bad" : undefined}>{t(VERDICTS[verdict])}</span>;
}

/** A picture or player with a link, or the link alone. */
function Media({ kind, url }: Extract<MessageContent, { url: string }>) {
  const broken = useSignal(false);
  const safe = safeUrl(url);
  const link = <Link url={url}>{fileNameOf}</Link>;
  if (safe === null || kind === "file") return link;
  if (broken.value) {
    return (
      <p>
        <small>{t("Could not be loaded:")}</small> <Link url={url}>{(address) => address}</Link>
      </p>
    );
  }
  const label = `${t(KIND_NAMES[kind])} ${fileNameOf(safe)}`;
  const props = { src: safe, onError: () => (broken.value = true) };
  const player = { ...props, controls: true, preload: "metadata", "aria-label": label } as const;
  return (
    <figure>
      {kind === "image" && <img {...props} alt={label} referrerpolicy="no-referrer" />}
      {kind === "audio" && <audio {...player} />}
      {kind === "video" && <video {...player} />}
      {link}
    </figure>
  );
}

/** The buttons of a template. A press sends title and payload as the contact. */
export function PostbackButtons({ buttons }: { buttons: readonly PostbackButton[] }) {
  const busy = useSignal(false);
  async function press(button: PostbackButton): Promise<void> {
    const [place, current] = [workspace.value, party.value];
    if (busy.value || place === null || current === null) return;
    busy.value = true;
    await attempt(() => sendAsContact(place.name, current, { kind: "button", ...button }));
    busy.value = false;
  }
  return (
    <div class="vstack gap-2">
      {buttons.map((button, index) => (
        <button
          key={index}
          type="button"
          class="ghost postback"
          aria-disabled={busy.value}
          title={t("payload {payload}", { payload: button.payload })}
          onClick={() => void press(button)}
          data-testid="postback"
        >
          <Text>{button.title === "" ? t("untitled") : button.title}</Text>
        </button>
      ))}
    </div>
  );
}

/** Cards side by side, one in view. They slide by finger, by arrow keys and by the two buttons. */
export function Carousel({ cards }: { cards: readonly Card[] }) {
  const track = useRef<HTMLUListElement>(null);
  const position = useSignal(0);
  function slideTo(index: number): void {
    const card = track.current?.children[Math.max(0, Math.min(index, cards.length - 1))];
    if (!(card instanceof HTMLElement) || track.current === null) return;
    track.current.scrollTo({ left: card.offsetLeft - track.current.offsetLeft });
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || event.target !== event.currentTarget) return;
    event.preventDefault();
    slideTo(position.value + step);
  }
  const label = t("Carousel of {count} cards", { count: cards.length });
  return (
    <div class="carousel" role="group" aria-label={label} data-testid="carousel">
      <ul
        ref={track}
        tabIndex={0}
        aria-label={label}
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget }) => (position.value = positionOf(currentTarget))}
      >
        {cards.map((card, index) => (
          <CardItem key={index} card={card} />
        ))}
      </ul>
      {cards.length > 1 && (
        <div class="hstack justify-between">
          <Tool
            compact
            icon="left"
            label={t("Previous card")}
            aria-disabled={position.value === 0}
            action={() => slideTo(position.value - 1)}
          />
          <small data-testid="carousel-position">
            {t("Card {position} of {count}", { position: position.value + 1, count: cards.length })}
          </small>
          <Tool
            compact
            icon="right"
            label={t("Next card")}
            aria-disabled={position.value >= cards.length - 1}
            action={() => slideTo(position.value + 1)}
          />
        </div>
      )}
    </div>
  );
}

/** The card whose start is nearest to the start of the view; the last one when it cannot be slid further. */
function positionOf(track: HTMLElement): number {
  const cards = [...track.children].filter((card) => card instanceof HTMLElement);
  if (track.scrollLeft > 0 && track.scrollLeft + track.clientWidth >= track.scrollWidth - 2)
    return cards.length - 1;
  const distances = cards.map((card) => Math.abs(card.offsetLeft - track.offsetLeft - track.scrollLeft));
  return Math.max(0, distances.indexOf(Math.min(...distances)));
}

function CardItem({ card: { title, subtitle, image_url, item_url, buttons } }: { card: Card }) {
  const picture = safeUrl(image_url);
  return (
    <li class="card">
      {picture !== null && <img src={picture} alt="" referrerpolicy="no-referrer" />}
      <div class="head vstack gap-2">
        {picture === null && image_url !== "" && <Link url={image_url}>{fileNameOf}</Link>}
        <strong dir="auto">
          <Text>{title}</Text>
        </strong>
        <small dir="auto">
          <Text>{subtitle}</Text>
        </small>
        {item_url !== "" && <Link url={item_url}>{(safe) => new URL(safe).host}</Link>}
        <PostbackButtons buttons={buttons} />
      </div>
    </li>
  );
}
