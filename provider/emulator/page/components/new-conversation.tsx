import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { begin } from "../actions.js";
import { t } from "../i18n/translate.js";
import { Dialog } from "./dialog.js";
import { Field } from "./field.js";
import { Form } from "./form.js";

interface Props {
  workspace: string;
  open: boolean;
  onClose: () => void;
}

/** Asks who writes, and in which conversation. */
export function NewConversation({ open, onClose, ...rest }: Props) {
  const started = useRef(false);
  function closed(): void {
    onClose();
    if (started.current) document.querySelector<HTMLElement>("#composer textarea")?.focus();
    started.current = false;
  }
  return (
    <Dialog title={t("conversations.new")} open={open} onClose={closed}>
      <NewConversationForm onStart={() => (started.current = true)} onClose={onClose} {...rest} />
    </Dialog>
  );
}

interface FormProps extends Omit<Props, "open"> {
  onStart: () => void;
}

function NewConversationForm({ workspace, onStart, onClose }: FormProps) {
  const number = useSignal(String(newNumber()));
  const contactId = useSignal(`contact-${newNumber()}`);
  const contactName = useSignal("Maria Souza");
  async function start(): Promise<void> {
    const [id, name, conversation] = [contactId.value, contactName.value, number.value];
    begin(workspace, { contactId: id, contactName: name, conversationId: conversation });
    onStart();
  }
  return (
    <Form class="stack" action={start} onDone={onClose}>
      <Field label={t("conversations.contactId")} value={contactId} required testId="contact-id" autofocus />
      <Field label={t("conversations.contactName")} value={contactName} testId="contact-name" />
      <Field
        label={t("conversations.id")}
        hint={t("conversations.idHint")}
        value={number}
        pattern="-?(0|[1-9][0-9]*)"
        required
        testId="conversation-id"
      />
      <div class="row end">
        <button type="button" onClick={onClose}>
          {t("app.cancel")}
        </button>
        <button class="primary">{t("conversations.start")}</button>
      </div>
    </Form>
  );
}

function newNumber(): number {
  return 1000 + Math.floor(Math.random() * 9000);
}
