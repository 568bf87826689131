import { t } from "../i18n/translate.js";
import { moveFocus } from "../move-focus.js";
import type { CardInput } from "../outgoing-bodies.js";
import { ButtonRows } from "./button-rows.js";
import { Field } from "./field.js";
import { Icon } from "./icon.js";

interface Props {
  cards: readonly CardInput[];
  onChange: (cards: CardInput[]) => void;
}

/** The cards of a carousel, as many as wanted. */
export function CardRows({ cards, onChange }: Props) {
  return (
    <div class="stack">
      {cards.map((card, index) => (
        <CardRow
          key={index}
          number={index + 1}
          card={card}
          onChange={(changed) => onChange(cards.with(index, changed))}
          onRemove={() => onChange(cards.toSpliced(index, 1))}
        />
      ))}
      <button type="button" class="small start" onClick={() => onChange([...cards, emptyCard()])}>
        <Icon name="plus" /> {t("compose.addCard")}
      </button>
    </div>
  );
}

interface RowProps {
  number: number;
  card: CardInput;
  onChange: (card: CardInput) => void;
  onRemove: () => void;
}

function CardRow({ number, card, onChange, onRemove }: RowProps) {
  const set = (part: Partial<CardInput>) => onChange({ ...card, ...part });
  return (
    <fieldset class="card-form">
      <legend>{t("compose.card", { number })}</legend>
      <div class="pair">
        <Field
          hideLabel
          label={t("compose.cardTitle")}
          value={card.title}
          required
          onInput={(title) => set({ title })}
        />
        <Field
          hideLabel
          label={t("compose.cardSubtitle")}
          value={card.subtitle}
          onInput={(subtitle) => set({ subtitle })}
        />
        <Field
          hideLabel
          label={t("compose.cardImage")}
          value={card.imageUrl}
          type="url"
          onInput={(imageUrl) => set({ imageUrl })}
        />
        <Field
          hideLabel
          label={t("compose.cardLink")}
          value={card.itemUrl}
          type="url"
          onInput={(itemUrl) => set({ itemUrl })}
        />
      </div>
      <ButtonRows buttons={card.buttons} onChange={(buttons) => set({ buttons })} />
      <button
        type="button"
        class="small start"
        onClick={({ currentTarget }) => {
          moveFocus(currentTarget, ".stack", ":scope > button");
          onRemove();
        }}
      >
        {t("compose.removeCard", { number })}
      </button>
    </fieldset>
  );
}

export function emptyCard(): CardInput {
  return { title: "", subtitle: "", imageUrl: "", itemUrl: "", buttons: [] };
}
