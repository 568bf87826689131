import type { TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { ApiError } from "../api.js";
import { attempt, showDone, showError } from "../notices.js";

/** Outlines in a square of 24 by 24. */
const PATHS = {
  bolt: "M13 3 5 14h6l-1 7 8-11h-6z",
  crack: "M12 3v5l-3 3 5 3-3 3 1 4M4 4h16v16H4z",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  again: "M20 5v6h-6M19 11a7.5 7.5 0 1 0 1 5",
  pen: "M4 20l1-4L16 5l3 3L8 19z",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14",
  file: "M6 3h8l4 4v14H6zM14 3v5h4",
  send: "M4 12 20 4l-5 16-4-6z",
} as const;

type IconName = keyof typeof PATHS;

/** A drawing that a screen reader skips: the text beside it or the control's label names it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export interface ToolProps {
  label: string;
  icon?: IconName;
  /** Shows the icon only. */
  compact?: boolean;
  /** Its failure is shown. */
  action: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
  disabled?: boolean;
}

/** A small button that does something at once. */
export function Tool({ label, icon, compact = false, action, ...button }: ToolProps) {
  return (
    <button
      {...button}
      {...(compact && { "aria-label": label, title: label })}
      type="button"
      class={compact ? "ghost small icon" : "outline small"}
      onClick={(event) => void attempt(async () => action(event))}
    >
      {icon !== undefined && <Icon name={icon} />} {!compact && label}
    </button>
  );
}

interface CopyButtonProps extends Pick<ToolProps, "label" | "icon" | "compact"> {
  text: () => Promise<string>;
  /** Whether the text holds secrets. */
  inClear?: boolean;
}

/** Puts a text on the clipboard, and shows whether that succeeded. */
export function CopyButton({ text, inClear = false, ...tool }: CopyButtonProps) {
  const done = inClear ? "Copied with secrets in clear text." : "Copied to the clipboard.";
  return <Tool icon="copy" {...tool} action={() => copy(text(), done)} />;
}

async function copy(text: Promise<string>, done: string): Promise<void> {
  try {
    // Begun within the click: some browsers do not let a page write later, when the text has arrived.
    await Promise.all([text, navigator.clipboard.write([new ClipboardItem({ "text/plain": text })])]);
    showDone(done);
  } catch (error) {
    // The browser's own reason ("Document is not focused") does not help.
    showError(
      error instanceof ApiError
        ? error
        : "The browser only allows copying on localhost or over HTTPS. Show the secrets and select the text.",
    );
  }
}

/**
 * Moves the focus to another control of the same container, before the focused one is removed. Otherwise it would go to the
 * start of the page.
 */
export function moveFocus(from: Element, container: string, target: string): void {
  from.closest(container)?.querySelector<HTMLElement>(target)?.focus();
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** Moves the focus in a list of buttons or folds: with the arrows, or with j and k. */
export function walk(event: TargetedKeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  const { currentTarget: list, target, ctrlKey, metaKey, altKey } = event;
  const items = [...list.querySelectorAll<HTMLElement>("li > button, li > details > summary")];
  const index = items.indexOf(target as HTMLElement);
  if (step === undefined || index < 0 || ctrlKey || metaKey || altKey) return;
  event.preventDefault();
  items[index + step]?.focus();
}
