import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { dialogOpen, dismiss, notices } from "../notices.js";
import { Tool } from "./buttons.js";
import { Form, type Fields } from "./form.js";
import { visibleText } from "./untrusted.js";

interface DialogProps {
  title: string;
  /** The control that opens it. */
  opener: (open: () => void) => ComponentChildren;
  /** The content, which is created each time it opens. */
  children: (close: () => void) => ComponentChildren;
}

/** A control and the modal dialog that it opens. Esc and the cross close it. */
export function Dialog({ title, opener, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const open = useSignal(false);
  const heading = useId();
  const close = () => element.current?.close();
  useEffect(() => {
    if (!open.value) return undefined;
    element.current?.showModal();
    dialogOpen.value = true;
    return () => void (dialogOpen.value = false);
  }, [open.value]);
  return (
    <>
      {opener(() => (open.value = true))}
      <dialog ref={element} aria-labelledby={heading} onClose={() => (open.value = false)}>
        {open.value && (
          <>
            <header>
              <div class="hstack justify-between">
                <h2 id={heading}>{title}</h2>
                <Tool short="×" label="Close" action={close} />
              </div>
            </header>
            {children(close)}
            <Notices />
          </>
        )}
      </dialog>
    </>
  );
}

interface FormDialogProps extends Pick<DialogProps, "title" | "opener"> {
  action: (fields: Fields) => Promise<unknown>;
  /** Called after it has closed. */
  onDone?: () => void;
  /** The text of the button that submits it. */
  submit: string;
  danger?: boolean;
  children: ComponentChildren;
}

/** A dialog with a form. It closes after success, or when it is cancelled. */
export function FormDialog({ action, onDone, submit, danger, children, ...dialog }: FormDialogProps) {
  return (
    <Dialog {...dialog}>
      {(close) => (
        <Form
          action={async (fields) => {
            await action(fields);
            close();
            onDone?.();
          }}
        >
          <div class="vstack">{children}</div>
          <footer>
            <button type="button" class="outline" onClick={close}>
              Cancel
            </button>
            <button data-variant={danger && "danger"} data-testid="submit">
              {submit}
            </button>
          </footer>
        </Form>
      )}
    </Dialog>
  );
}

const ROLES = { error: "alert", done: "status" } as const;

/** Errors interrupt a screen reader, success messages wait. Both regions always exist: otherwise they would not be read. */
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
