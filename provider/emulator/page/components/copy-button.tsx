import { t } from "../i18n/translate.js";
import { tell, tellError } from "../notices.js";
import { Icon } from "./icon.js";

interface Props {
  text: () => string;
  /** What a screen reader says, and what is written beside the icon unless `compact`. */
  label: string;
  compact?: boolean;
}

/** Puts a text on the clipboard, and says whether it could. */
export function CopyButton({ text, label, compact = false }: Props) {
  return (
    <button
      type="button"
      class={compact ? "quiet" : "small"}
      aria-label={compact ? label : undefined}
      title={compact ? label : undefined}
      onClick={() => void copy(text())}
    >
      <Icon name="copy" />
      {!compact && label}
    </button>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(t("copy.done"));
  } catch {
    // The browser's own reason ("Document is not focused") helps nobody further.
    tellError(t("copy.failed"));
  }
}
