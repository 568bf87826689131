import type { TargetedMouseEvent } from "preact";
import { ApiError } from "../api.js";
import { attempt, showDone, showError } from "../notices.js";

interface ToolProps {
  label: string;
  /** What is shown in place of the label. */
  short?: string;
  /** Its failure is shown. */
  action: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
}

/** A small button that does something at once. */
export function Tool({ label, short, action }: ToolProps) {
  return (
    <button
      {...(short !== undefined && { "aria-label": label, title: label })}
      type="button"
      class={`small ${short === undefined ? "outline" : "ghost"}`}
      onClick={(event) => void attempt(async () => action(event))}
    >
      {short ?? label}
    </button>
  );
}

/** Copies a value in clear text. */
export function CopyButton({ label, text }: { label: string; text: () => Promise<string> }) {
  return <Tool short="Copy" label={label} action={() => copy(text())} />;
}

async function copy(text: Promise<string>): Promise<void> {
  try {
    // Begun within the click: some browsers do not let a page write later, when the text has arrived.
    await Promise.all([text, navigator.clipboard.write([new ClipboardItem({ "text/plain": text })])]);
    showDone("Copied in clear text.");
  } catch (error) {
    // The browser's own reason ("Document is not focused") does not help.
    showError(
      error instanceof ApiError
        ? error
        : "The browser only allows copying on localhost or over HTTPS. Show the secrets and select the text.",
    );
  }
}
