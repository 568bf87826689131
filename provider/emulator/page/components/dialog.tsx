import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { attempt, dialogOpen, dismiss, notices } from "../notices.js";
import { Tool } from "./buttons.js";
import { Form, type Fields } from "./form.js";
import { visibleText } from "./untrusted.js";

interface DialogProps {
  /** Names the dialog and the button that opens it. */
  title: string;
  /** Shown on the button after its name. */
  badge?: ComponentChildren;
  /** Called before it opens. Its failure is shown. */
  onOpen?: () => Promise<void>;
  /** The content, which is created each time it opens. */
  children: ComponentChildren;
  "data-testid": string;
}

/** A button and the modal dialog that it opens. Esc and the cross close it. */
export function Dialog({ title, badge, onOpen, children, ...button }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const open = useSignal(false);
  const heading = useId();
  async function show(): Promise<void> {
    await onOpen?.();
    open.value = true;
  }
  useEffect(() => {
    if (!open.value) return undefined;
    element.current?.showModal();
    dialogOpen.value = true;
    return () => void (dialogOpen.value = false);
  }, [open.value]);
  return (
    <>
      <button {...button} type="button" class="outline small" onClick={() => void attempt(show)}>
        {title} {badge}
      </button>
      <dialog ref={element} aria-labelledby={heading} onClose={() => (open.value = false)}>
        {open.value && (
          <>
            <header>
              <div class="hstack justify-between">
                <h2 id={heading}>{title}</h2>
                <Tool short="×" label="Close" action={() => element.current?.close()} />
              </div>
            </header>
            {children}
            <Notices />
          </>
        )}
      </dialog>
    </>
  );
}

interface FormDialogProps extends DialogProps {
  action: (fields: Fields) => Promise<unknown>;
  /** The text of the button that submits it. */
  submit: string;
}

/** A dialog with a form, which closes after success. */
export function FormDialog({ action, submit, children, ...dialog }: FormDialogProps) {
  async function perform(fields: Fields): Promise<void> {
    await action(fields);
    document.querySelector<HTMLDialogElement>("dialog[open]")?.close();
  }
  return (
    <Dialog {...dialog}>
      <Form action={perform}>
        <div class="vstack">{children}</div>
        <footer>
          <button data-testid="submit">{submit}</button>
        </footer>
      </Form>
    </Dialog>
  );
}

const ROLES = { error: "alert", done: "status" } as const;

/**
 * Errors interrupt a screen reader, success messages wait. Both regions always exist: otherwise they would
 * not be read.
 */
export function Notices() {
  return (
    <div class="notices">
      {(["error", "done"] as const).map((kind) => (
        <div key={kind} role={ROLES[kind]} data-testid={kind}>
          {notices.value.map(
            (notice, index) =>
              notice.kind === kind && (
                <div key={index} class={`card flex justify-between ${kind}`}>
                  <p>{visibleText(notice.text)}</p>
                  <Tool short="×" label="Dismiss" action={() => dismiss(notice)} />
                </div>
              ),
          )}
        </div>
      ))}
    </div>
  );
}
