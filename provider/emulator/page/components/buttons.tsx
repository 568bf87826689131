import type { TargetedMouseEvent } from "preact";
import { attempt } from "../errors.js";

interface ToolProps {
  label: string;
  /** What is shown in place of the label. */
  short?: string;
  /** If it fails, the page shows the error. */
  action: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
}

/** A small button that performs an action at once. */
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
