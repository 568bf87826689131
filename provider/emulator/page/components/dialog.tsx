import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../i18n/translate.js";
import { dialogOpen } from "../notices.js";
import { Form } from "./form.js";
import { Icon } from "./icon.js";
import { Notices } from "./notices.js";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog with a heading; Esc and the cross close it. Its content is made anew each time it opens. */
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
    <dialog ref={element} class="dialog" aria-labelledby={heading} onClose={onClose}>
      {open && (
        <>
          <div class="dialog-head">
            <h2 id={heading}>{title}</h2>
            <button type="button" class="quiet" aria-label={t("app.close")} onClick={onClose}>
              <Icon name="close" />
            </button>
          </div>
          {children}
          <Notices />
        </>
      )}
    </dialog>
  );
}

interface FormProps extends Props {
  action: () => Promise<unknown>;
  /** What the button says that does it. */
  submit: string;
  danger?: boolean;
}

/** A dialog that asks for something and closes when it is done, or given up. */
export function FormDialog({ action, submit, danger = false, children, ...dialog }: FormProps) {
  return (
    <Dialog {...dialog}>
      <Form class="stack" action={action} onDone={dialog.onClose}>
        {children}
        <div class="row end">
          <button type="button" onClick={dialog.onClose}>
            {t("app.cancel")}
          </button>
          <button class={danger ? "danger" : "primary"}>{submit}</button>
        </div>
      </Form>
    </Dialog>
  );
}
