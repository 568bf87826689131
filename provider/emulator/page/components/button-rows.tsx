import { t } from "../i18n/translate.js";
import type { ShownButton } from "../message-content.js";
import { moveFocus } from "../move-focus.js";
import { Field } from "./field.js";
import { Icon } from "./icon.js";

interface Props {
  buttons: readonly ShownButton[];
  onChange: (buttons: ShownButton[]) => void;
}

/** The buttons of a template: title and payload, as many as wanted. */
export function ButtonRows({ buttons, onChange }: Props) {
  return (
    <div class="stack tight">
      {buttons.map((button, index) => (
        <div key={index} class="row">
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
          <button
            type="button"
            class="quiet"
            aria-label={t("compose.removeButton", { number: index + 1 })}
            onClick={({ currentTarget }) => {
              moveFocus(currentTarget, ".stack", ":scope > button");
              onChange(buttons.toSpliced(index, 1));
            }}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button type="button" class="small start" onClick={() => onChange([...buttons, emptyButton()])}>
        <Icon name="plus" /> {t("compose.addButton")}
      </button>
    </div>
  );
}

export function emptyButton(): ShownButton {
  return { title: "", payload: "" };
}
