import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { begin } from "../actions.js";
import { t } from "../i18n/translate.js";
import { FormDialog } from "./dialog.js";
import { bound, Field } from "./field.js";

interface Props {
  workspace: string;
  open: boolean;
  onClose: () => void;
}

/** Asks who writes, and in which conversation: each time somebody new, if nothing else is filled in. */
export function NewConversation({ workspace, open, onClose }: Props) {
  const conversationId = useSignal("");
  const contactId = useSignal("");
  const contactName = useSignal("");
  const started = useRef(false);
  useEffect(() => {
    // The dialog has closed by now, and given the focus back.
    if (!open && started.current) document.querySelector<HTMLElement>("#composer textarea")?.focus();
    started.current = false;
    conversationId.value = newNumber();
    contactId.value = `contact-${newNumber()}`;
    contactName.value = "Maria Souza";
  }, [open]);
  async function start(): Promise<void> {
    begin(workspace, {
      contactId: contactId.value,
      contactName: contactName.value,
      conversationId: conversationId.value,
    });
    started.current = true;
  }
  return (
    <FormDialog
      title={t("conversations.new")}
      open={open}
      onClose={onClose}
      action={start}
      submit={t("conversations.start")}
    >
      <Field
        label={t("conversations.contactId")}
        {...bound(contactId)}
        required
        testId="contact-id"
        autofocus
      />
      <Field label={t("conversations.contactName")} {...bound(contactName)} testId="contact-name" />
      <Field
        label={t("conversations.id")}
        hint={t("conversations.idHint")}
        {...bound(conversationId)}
        pattern="-?(0|[1-9][0-9]*)"
        required
        testId="conversation-id"
      />
    </FormDialog>
  );
}

const newNumber = (): string => String(1000 + Math.floor(Math.random() * 9000));
