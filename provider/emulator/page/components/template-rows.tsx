import { t } from "../i18n/translate.js";
import type { ShownButton } from "../message-content.js";
import type { CardInput } from "../outgoing-bodies.js";
import { IconButton, moveFocus, Tool } from "./buttons.js";
import { Field } from "./field.js";

export const emptyButton = (): ShownButton => ({ title: "", payload: "" });

export const emptyCard = (): CardInput => ({
  title: "",
  subtitle: "",
  imageUrl: "",
  itemUrl: "",
  buttons: [],
});

interface ButtonRowsProps {
  buttons: readonly ShownButton[];
  onChange: (buttons: ShownButton[]) => void;
}

/** The buttons of a template: title and payload, as many as wanted. */
export function ButtonRows({ buttons, onChange }: ButtonRowsProps) {
  return (
    <div class="vstack gap-2">
      {buttons.map((button, index) => (
        <div key={index} class="flex items-center gap-1">
          <Field
            hideLabel
            label={t("compose.buttonTitle", { number: index + 1 })}
            value={button.title}
            required
            onInput={(title) => onChange(buttons.with(index, { ...button, title }))}
          />
          <Field
            hideLabel
            label={t("compose.buttonPayload", { number: index + 1 })}
            value={button.payload}
            onInput={(payload) => onChange(buttons.with(index, { ...button, payload }))}
          />
          <IconButton
            icon="close"
            label={t("compose.removeButton", { number: index + 1 })}
            onClick={({ currentTarget }) => {
              moveFocus(currentTarget, ".vstack", ":scope > button");
              onChange(buttons.toSpliced(index, 1));
            }}
          />
        </div>
      ))}
      <Tool icon="plus" label={t("compose.addButton")} action={() => onChange([...buttons, emptyButton()])} />
    </div>
  );
}

interface CardRowsProps {
  cards: readonly CardInput[];
  onChange: (cards: CardInput[]) => void;
}

/** The cards of a carousel, as many as wanted. */
export function CardRows({ cards, onChange }: CardRowsProps) {
  return (
    <div class="vstack cards">
      {cards.map((card, index) => (
        <CardRow
          key={index}
          number={index + 1}
          card={card}
          onChange={(changed) => onChange(cards.with(index, changed))}
          onRemove={() => onChange(cards.toSpliced(index, 1))}
        />
      ))}
      <Tool icon="plus" label={t("compose.addCard")} action={() => onChange([...cards, emptyCard()])} />
    </div>
  );
}

interface CardRowProps {
  number: number;
  card: CardInput;
  onChange: (card: CardInput) => void;
  onRemove: () => void;
}

function CardRow({ number, card, onChange, onRemove }: CardRowProps) {
  const field = (name: "title" | "subtitle" | "imageUrl" | "itemUrl", label: string) => ({
    hideLabel: true,
    label,
    value: card[name],
    onInput: (text: string) => onChange({ ...card, [name]: text }),
  });
  return (
    <fieldset class="card vstack gap-2">
      <legend>{t("compose.card", { number })}</legend>
      <div class="pairs">
        <Field {...field("title", t("compose.cardTitle"))} required />
        <Field {...field("subtitle", t("compose.cardSubtitle"))} />
        <Field {...field("imageUrl", t("compose.cardImage"))} type="url" />
        <Field {...field("itemUrl", t("compose.cardLink"))} type="url" />
      </div>
      <ButtonRows buttons={card.buttons} onChange={(buttons) => onChange({ ...card, buttons })} />
      <Tool
        label={t("compose.removeCard", { number })}
        action={({ currentTarget }) => {
          moveFocus(currentTarget, ".cards", ":scope > button");
          onRemove();
        }}
      />
    </fieldset>
  );
}
