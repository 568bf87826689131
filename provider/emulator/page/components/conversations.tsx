import { useMemo } from "preact/hooks";
import type { ConversationView } from "../../control/shapes.js";
import { begin, choose } from "../actions.js";
import { clockOf, t } from "../i18n/translate.js";
import { begun, conversations, data, view } from "../store.js";
import { Tool } from "./buttons.js";
import { FormDialog } from "./dialog.js";
import { Field } from "./form.js";
import { Text } from "./untrusted.js";

/** The conversations of a workspace, the latest first. */
export function ConversationList({ workspace }: { workspace: string }) {
  return (
    <section aria-label={t("Conversations")}>
      <div class="head hstack justify-between">
        <h2>{t("Conversations")}</h2>
        <NewConversation workspace={workspace} />
      </div>
      {conversations.value.length === 0 && begun.value === null && (
        <p class="text-light p-4">{t("No conversation yet. Start one and write as its contact.")}</p>
      )}
      <ul class="list" data-testid="conversations">
        {conversations.value.map((item) => (
          <Item key={item.id} conversation={item} />
        ))}
      </ul>
    </section>
  );
}

function Item({ conversation }: { conversation: ConversationView }) {
  const { id, workspace, contactId, contactName, conversationId, messageCount, lastAt } = conversation;
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
        <strong>{contactName === "" ? <em>{t("no name")}</em> : <Text>{contactName}</Text>}</strong>
        <time dateTime={lastAt}>{clockOf(lastAt)}</time>
        <small>
          <Text>{contactId}</Text> · #<Text>{conversationId}</Text> ·{" "}
          {messageCount === 1 ? t("1 message") : t("{count} messages", { count: messageCount })}
        </small>
      </button>
    </li>
  );
}

/** Asks for contact and conversation. */
function NewConversation({ workspace }: { workspace: string }) {
  return (
    <FormDialog
      title={t("New conversation")}
      opener={(open) => (
        <Tool icon="plus" label={t("New conversation")} action={open} data-testid="new-conversation" />
      )}
      action={async ({ contactId = "", contactName = "", conversationId = "" }) =>
        begin(workspace, { contactId, contactName, conversationId })
      }
      onDone={() => document.querySelector<HTMLElement>("#composer textarea")?.focus()}
      submit={t("Start conversation")}
    >
      <PartyFields />
    </FormDialog>
  );
}

/** Proposes another contact and conversation each time the dialog opens. */
function PartyFields() {
  const [contact, conversation] = useMemo(() => [newNumber(), newNumber()], []);
  return (
    <>
      <Field
        label={t("Contact id")}
        name="contactId"
        defaultValue={`contact-${contact}`}
        required
        autofocus
        data-testid="contact-id"
      />
      <Field
        label={t("Contact name")}
        name="contactName"
        defaultValue="Maria Souza"
        data-testid="contact-name"
      />
      <Field
        label={t("Conversation id")}
        hint={t("A whole number.")}
        name="conversationId"
        defaultValue={conversation}
        pattern="-?(0|[1-9][0-9]*)"
        required
        data-testid="conversation-id"
      />
    </>
  );
}

const newNumber = (): string => String(1000 + Math.floor(Math.random() * 9000));
