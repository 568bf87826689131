import { useSignal } from "@preact/signals";
import type { ConversationView } from "../../control/shapes.js";
import { choose } from "../actions.js";
import { clockOf, t } from "../i18n/translate.js";
import { begun, conversations, data, view } from "../store.js";
import { Icon } from "./icon.js";
import { NewConversation } from "./new-conversation.js";
import { Text } from "./text.js";

/** The conversations of a workspace, the latest first. */
export function ConversationList({ workspace }: { workspace: string }) {
  const creating = useSignal(false);
  return (
    <section aria-label={t("conversations.heading")}>
      <div class="section-head">
        <h2>{t("conversations.heading")}</h2>
        <button
          type="button"
          class="small"
          onClick={() => (creating.value = true)}
          data-testid="new-conversation"
        >
          <Icon name="plus" /> {t("conversations.new")}
        </button>
      </div>
      {conversations.value.length === 0 && begun.value === null && (
        <p class="muted padded">{t("conversations.empty")}</p>
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
        class="list-item"
        aria-current={id === data.value.scope.conversation ? "true" : undefined}
        onClick={() => {
          choose({ workspace, conversation: id });
          view.value = "chat";
        }}
      >
        <span class="list-title">
          {contactName === "" ? <em>{t("conversations.noName")}</em> : <Text>{contactName}</Text>}
        </span>
        <time class="muted" dateTime={lastAt}>
          {clockOf(lastAt)}
        </time>
        <span class="list-note">
          <Text>{contactId}</Text> · #<Text>{conversationId}</Text> ·{" "}
          {messageCount === 1 ? t("conversations.count.one", count) : t("conversations.count.many", count)}
        </span>
      </button>
    </li>
  );
}
