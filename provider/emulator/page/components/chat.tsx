import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
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
      <Composer key={`${id} composer`} workspace={place.name} party={current} />
    </>
  );
}

/** This near to the end, the log follows the latest message. */
const NEAR_END_PX = 80;

/** The messages, oldest first. It follows the latest one, unless it is scrolled up. */
function MessageLog() {
  const element = useRef<HTMLDivElement>(null);
  const following = useSignal(true);
  const last = messages.value.at(-1)?.id;
  const toEnd = () => element.current?.scrollTo({ top: element.current.scrollHeight });
  const follow = () => {
    if (following.peek()) toEnd();
  };
  useLayoutEffect(follow, [last]);
  useLayoutEffect(() => {
    if (element.current === null) return undefined;
    // The composer takes more or less of the height.
    const observer = new ResizeObserver(follow);
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="log-frame">
      <div
        ref={element}
        class="log vstack p-4"
        role="log"
        aria-live="polite"
        aria-label={t("Messages")}
        tabIndex={0}
        onScroll={({ currentTarget }) => (following.value = isNearEnd(currentTarget))}
        // Pictures and players get their height when they are loaded.
        onLoadCapture={follow}
        data-testid="log"
      >
        {messages.value.length === 0 && (
          <p class="text-light">{t("No messages yet. The first one opens the conversation.")}</p>
        )}
        {messages.value.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </div>
      {!following.value && <Tool compact icon="down" label={t("Go to the latest message")} action={toEnd} />}
    </div>
  );
}

function isNearEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
}
