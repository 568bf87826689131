import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../i18n/translate.js";
import type { ShownCard } from "../message-content.js";
import { safeUrl } from "../safe-url.js";
import { Icon } from "./icon.js";
import { FileLink, Unsafe } from "./media.js";
import { PostbackButtons } from "./postback-buttons.js";
import { Text } from "./text.js";

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
  return (
    <div
      class="carousel"
      role="group"
      aria-label={t("carousel.label", { count: cards.length })}
      data-testid="carousel"
    >
      <ul
        ref={track}
        class="track"
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
        <div class="carousel-tools">
          <SlideButton forward={false} position={position.value} count={cards.length} onSlide={slideTo} />
          <span class="muted" data-testid="carousel-position">
            {t("carousel.position", { position: position.value + 1, count: cards.length })}
          </span>
          <SlideButton forward position={position.value} count={cards.length} onSlide={slideTo} />
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

interface SlideProps {
  forward: boolean;
  position: number;
  count: number;
  onSlide: (index: number) => void;
}

function SlideButton({ forward, position, count, onSlide }: SlideProps) {
  const atEnd = forward ? position >= count - 1 : position === 0;
  return (
    <button
      type="button"
      class="quiet"
      aria-label={forward ? t("carousel.next") : t("carousel.previous")}
      // Not `disabled`: the button would lose the focus at the last card.
      aria-disabled={atEnd}
      onClick={() => onSlide(position + (forward ? 1 : -1))}
    >
      <Icon name={forward ? "right" : "left"} />
    </button>
  );
}

function Card({ card }: { card: ShownCard }) {
  const picture = safeUrl(card.imageUrl);
  return (
    <li class="card">
      {picture !== null && <img src={picture} alt="" referrerpolicy="no-referrer" />}
      {picture === null && isGiven(card.imageUrl) && <Unsafe url={card.imageUrl} />}
      <div class="card-words">
        <strong dir="auto">
          <Text>{card.title}</Text>
        </strong>
        <span class="muted" dir="auto">
          <Text>{card.subtitle}</Text>
        </span>
        <CardLink url={card.itemUrl} />
      </div>
      <PostbackButtons buttons={card.buttons} />
    </li>
  );
}

function CardLink({ url }: { url: unknown }) {
  const safe = safeUrl(url);
  if (safe !== null) return <FileLink url={safe}>{new URL(safe).host}</FileLink>;
  return isGiven(url) ? <Unsafe url={url} /> : null;
}

const isGiven = (url: unknown): boolean => url !== undefined && url !== null && url !== "";
