import { ApiError } from "../api.js";
import { t } from "../i18n/translate.js";
import { tell, tellError } from "../notices.js";
import { Icon, type IconName } from "./icon.js";

interface Props {
  text: () => Promise<string>;
  /** What a screen reader says, and what is written beside the icon unless `compact`. */
  label: string;
  compact?: boolean;
  icon?: IconName;
  /** What is said afterwards. */
  done?: string;
}

/** Puts a text on the clipboard, and says whether it could. */
export function CopyButton({ text, label, compact = false, icon = "copy", done = t("copy.done") }: Props) {
  return (
    <button
      type="button"
      class={compact ? "quiet" : "small"}
      aria-label={compact ? label : undefined}
      title={compact ? label : undefined}
      onClick={() => void copy(text(), done)}
    >
      <Icon name={icon} />
      {!compact && label}
    </button>
  );
}

async function copy(text: Promise<string>, done: string): Promise<void> {
  try {
    // Begun within the click: some browsers do not let a page write later, when the text has come.
    await Promise.all([text, navigator.clipboard.write([new ClipboardItem({ "text/plain": text })])]);
    tell(done);
  } catch (error) {
    // The browser's own reason ("Document is not focused") helps nobody further.
    tellError(error instanceof ApiError ? error : t("copy.failed"));
  }
}
