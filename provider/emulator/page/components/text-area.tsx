import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../i18n/translate.js";

/** A text of several lines: Enter sends its form, Shift+Enter starts a new line. */
export function TextArea({ value, testId }: { value: Signal<string>; testId: string }) {
  const id = useId();
  return (
    <div class="field grow">
      <label for={id} class="hidden">
        {t("compose.text")}
      </label>
      <textarea
        id={id}
        rows={2}
        required
        value={value.value}
        placeholder={t("compose.placeholder")}
        dir="auto"
        onInput={(event) => (value.value = event.currentTarget.value)}
        onKeyDown={sendOnEnter}
        data-testid={testId}
      />
    </div>
  );
}

/** While an input method composes a character, Enter is its own. */
function sendOnEnter(event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
