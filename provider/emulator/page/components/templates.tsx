import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { sendAsContact } from "../actions.js";
import { t } from "../i18n/translate.js";
import type { ShownButton, ShownCard } from "../message-content.js";
import { attempt } from "../notices.js";
import { party, workspace } from "../store.js";
import { safeUrl } from "../untrusted.js";
import { IconButton } from "./buttons.js";
import { FileLink, Unsafe } from "./media.js";
import { Text } from "./text.js";

/** The buttons of a template. A press sends title and payload as the contact. */
export function PostbackButtons({ buttons }: { buttons: readonly ShownButton[] }) {
  const busy = useSignal(false);
  async function press(button: ShownButton): Promise<void> {
    const [place, current] = [workspace.value, party.value];
    if (busy.value || place === null || current === null) return;
    busy.value = true;
    await attempt(() => sendAsContact(place.name, current, { kind: "postback", ...button }));
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
          title={t("chat.payload", { payload: button.payload })}
          onClick={() => void press(button)}
          data-testid="postback"
        >
          <Text>{button.title === "" ? t("chat.untitled") : button.title}</Text>
        </button>
      ))}
    </div>
  );
}

/** Cards side by side, one in view. They slide by finger, by arrow keys and by the two buttons. */
export function Carousel({ cards }: { cards: readonly ShownCard[] }) {
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
  const isLast = position.value >= cards.length - 1;
  return (
    <div
      class="carousel"
      role="group"
      aria-label={t("carousel.label", { count: cards.length })}
      data-testid="carousel"
    >
      <ul
        ref={track}
        tabIndex={0}
        aria-label={t("carousel.label", { count: cards.length })}
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget }) => (position.value = positionOf(currentTarget))}
      >
        {cards.map((card, index) => (
          <Card key={index} card={card} />
        ))}
      </ul>
      {cards.length > 1 && (
        <div class="hstack justify-between">
          <IconButton
            icon="left"
            label={t("carousel.previous")}
            inactive={position.value === 0}
            onClick={() => slideTo(position.value - 1)}
          />
          <small data-testid="carousel-position">
            {t("carousel.position", { position: position.value + 1, count: cards.length })}
          </small>
          <IconButton
            icon="right"
            label={t("carousel.next")}
            inactive={isLast}
            onClick={() => slideTo(position.value + 1)}
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

function Card({ card }: { card: ShownCard }) {
  const picture = safeUrl(card.imageUrl);
  return (
    <li class="card">
      {picture !== null && <img src={picture} alt="" referrerpolicy="no-referrer" />}
      <div class="head vstack gap-2">
        {picture === null && isGiven(card.imageUrl) && <Unsafe url={card.imageUrl} />}
        <strong dir="auto">
          <Text>{card.title}</Text>
        </strong>
        <small dir="auto">
          <Text>{card.subtitle}</Text>
        </small>
        <CardLink url={card.itemUrl} />
        <PostbackButtons buttons={card.buttons} />
      </div>
    </li>
  );
}

function CardLink({ url }: { url: unknown }) {
  const safe = safeUrl(url);
  if (safe !== null) return <FileLink url={safe}>{new URL(safe).host}</FileLink>;
  return isGiven(url) ? <Unsafe url={url} /> : null;
}

const isGiven = (url: unknown): boolean => url !== undefined && url !== null && url !== "";
