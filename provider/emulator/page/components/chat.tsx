import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { addressOf } from "../address.js";
import { t } from "../i18n/translate.js";
import { data, messages, party, workspace } from "../store.js";
import { CopyButton, Tool } from "./buttons.js";
import { Composer } from "./composer.js";
import { Message } from "./message.js";
import { Text } from "./untrusted.js";

/** A conversation as its contact sees it, and the forms that write into it. */
export function Chat() {
  const current = party.value;
  const place = workspace.value;
  if (current === null || place === null)
    return <p class="text-light p-4">{t("Choose a conversation or start a new one.")}</p>;
  const { contactId, contactName, conversationId } = current;
  const id = `${place.name} ${contactId} ${conversationId}`;
  return (
    <>
      <div class="head hstack gap-2">
        <h2>{contactName === "" ? t("no name") : <Text>{contactName}</Text>}</h2>
        <p class="text-light">
          <Text>{contactId}</Text> · {t("Conversation {id}", { id: conversationId })}
        </p>
        {data.value.scope.conversation !== null && (
          <CopyButton
            compact
            icon="link"
            label={t("Copy link to this conversation")}
            text={async () => addressOf(data.value.scope)}
          />
        )}
      </div>
      <MessageLog key={id} />
      <Composer key={`${id} composer`} party={current} />
    </>
  );
}

/** Scrolled further up than this, the log shows a button that leads to its end. */
const NEAR_END_PX = 80;

/** The messages, oldest first. In a reversed column the browser follows the latest one, unless it is scrolled up. */
function MessageLog() {
  const element = useRef<HTMLDivElement>(null);
  const isNearEnd = useSignal(true);
  return (
    <div class="log-frame flex">
      <div
        ref={element}
        class="log flex"
        role="log"
        aria-live="polite"
        aria-label={t("Messages")}
        tabIndex={0}
        onScroll={({ currentTarget }) => (isNearEnd.value = currentTarget.scrollTop > -NEAR_END_PX)}
        data-testid="log"
      >
        <div class="vstack p-4">
          {messages.value.length === 0 && (
            <p class="text-light">{t("No messages yet. The first one opens the conversation.")}</p>
          )}
          {messages.value.map((message) => (
            <Message key={message.id} message={message} />
          ))}
        </div>
      </div>
      {!isNearEnd.value && (
        <Tool
          compact
          icon="down"
          label={t("Go to the latest message")}
          action={() => element.current?.scrollTo({ top: 0 })}
        />
      )}
    </div>
  );
}
