import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ConversationView } from "../../control/shapes.js";
import { begin, choose } from "../actions.js";
import { clockOf, t } from "../i18n/translate.js";
import { begun, conversations, data, view } from "../store.js";
import { Tool } from "./buttons.js";
import { FormDialog } from "./dialog.js";
import { bound, Field } from "./field.js";
import { Text } from "./text.js";

/** The conversations of a workspace, the latest first. */
export function ConversationList({ workspace }: { workspace: string }) {
  const creating = useSignal(false);
  return (
    <section aria-label={t("conversations.heading")}>
      <div class="head hstack justify-between">
        <h2>{t("conversations.heading")}</h2>
        <Tool
          icon="plus"
          label={t("conversations.new")}
          action={() => (creating.value = true)}
          testId="new-conversation"
        />
      </div>
      {conversations.value.length === 0 && begun.value === null && (
        <p class="text-light p-4">{t("conversations.empty")}</p>
      )}
      <ul class="list" data-testid="conversations">
        {conversations.value.map((item) => (
          <Item key={item.id} conversation={item} />
        ))}
      </ul>
      <NewConversation workspace={workspace} open={creating.value} onClose={() => (creating.value = false)} />
    </section>
  );
}

function Item({ conversation }: { conversation: ConversationView }) {
  const { id, workspace, contactId, contactName, conversationId, messageCount, lastAt } = conversation;
  const count = { count: messageCount };
  return (
    <li>
      <button
        type="button"
        class="ghost"
        aria-current={id === data.value.scope.conversation ? "true" : undefined}
        onClick={() => {
          choose({ workspace, conversation: id });
          view.value = "chat";
        }}
      >
        <strong>
          {contactName === "" ? <em>{t("conversations.noName")}</em> : <Text>{contactName}</Text>}
        </strong>
        <time dateTime={lastAt}>{clockOf(lastAt)}</time>
        <small>
          <Text>{contactId}</Text> · #<Text>{conversationId}</Text> ·{" "}
          {messageCount === 1 ? t("conversations.count.one", count) : t("conversations.count.many", count)}
        </small>
      </button>
    </li>
  );
}

interface NewProps {
  workspace: string;
  open: boolean;
  onClose: () => void;
}

/** Asks for contact and conversation. It proposes new ones each time. */
function NewConversation({ workspace, open, onClose }: NewProps) {
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
  const dialog = { open, onClose, title: t("conversations.new"), submit: t("conversations.start") };
  return (
    <FormDialog {...dialog} action={start}>
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
