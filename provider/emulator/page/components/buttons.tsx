import type { TargetedMouseEvent } from "preact";
import { ApiError } from "../api.js";
import { attempt, showDone, showError } from "../notices.js";

export interface ToolProps {
  label: string;
  /** What is shown in place of the label. */
  short?: string;
  /** Its failure is shown. */
  action: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
}

/** A small button that does something at once. */
export function Tool({ label, short, action, ...button }: ToolProps) {
  return (
    <button
      {...button}
      {...(short !== undefined && { "aria-label": label, title: label })}
      type="button"
      class={`small ${short === undefined ? "outline" : "ghost"}`}
      onClick={(event) => void attempt(async () => action(event))}
    >
      {short ?? label}
    </button>
  );
}

interface CopyButtonProps extends Pick<ToolProps, "label" | "short"> {
  text: () => Promise<string>;
  /** Whether the text holds secrets. */
  inClear?: boolean;
}

export function CopyButton({ text, inClear = false, ...tool }: CopyButtonProps) {
  const done = inClear ? "Copied with secrets in clear text." : "Copied to the clipboard.";
  return <Tool {...tool} action={() => copy(text(), done)} />;
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
