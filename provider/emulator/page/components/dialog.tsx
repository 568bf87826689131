import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../i18n/translate.js";
import { dialogOpen } from "../notices.js";
import { IconButton } from "./buttons.js";
import { Form } from "./field.js";
import { Notices } from "./notices.js";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog with a heading. Esc and the cross close it. Its content is created each time it opens. */
export function Dialog({ title, open, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    if (!open) return undefined;
    const dialog = element.current;
    dialog?.showModal();
    dialogOpen.value = true;
    return () => {
      dialog?.close();
      dialogOpen.value = false;
    };
  }, [open]);
  return (
    <dialog ref={element} aria-labelledby={heading} onClose={onClose}>
      {open && (
        <>
          <header>
            <h2 id={heading}>{title}</h2>
            <IconButton icon="close" label={t("app.close")} onClick={onClose} />
          </header>
          {children}
          <Notices />
        </>
      )}
    </dialog>
  );
}

interface FormProps extends Props {
  action: () => Promise<unknown>;
  /** The text of the button that submits it. */
  submit: string;
  danger?: boolean;
}

/** A dialog with a form. It closes after success, or when it is cancelled. */
export function FormDialog({ action, submit, danger = false, children, ...dialog }: FormProps) {
  return (
    <Dialog {...dialog}>
      <Form action={action} onDone={dialog.onClose}>
        <div class="vstack">{children}</div>
        <footer>
          <button type="button" class="outline" onClick={dialog.onClose}>
            {t("app.cancel")}
          </button>
          <button data-variant={danger ? "danger" : undefined} data-testid="submit">
            {submit}
          </button>
        </footer>
      </Form>
    </Dialog>
  );
}
