import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { attempt } from "../notices.js";

interface Props {
  class?: string;
  label?: string;
  /** Does what the form is for; its failure is shown, and the form stays as it is filled in. */
  action: () => Promise<unknown>;
  /** What follows when it was done. */
  onDone?: () => void;
  children: ComponentChildren;
}

/** A form that is sent once at a time. */
export function Form({ class: className, label, action, onDone, children }: Props) {
  const busy = useSignal(false);
  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    const done = await attempt(action);
    busy.value = false;
    if (done) onDone?.();
  }
  return (
    <form
      class={className}
      aria-label={label}
      aria-busy={busy.value}
      autocomplete="off"
      onSubmit={(event) => void submit(event)}
    >
      {children}
    </form>
  );
}
