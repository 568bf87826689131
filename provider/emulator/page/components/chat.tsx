import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { writeAddress } from "../address.js";
import { t } from "../i18n/translate.js";
import { data, messages, party, workspace } from "../store.js";
import { CopyButton, IconButton } from "./buttons.js";
import { Composer } from "./composer.js";
import { Message } from "./message.js";
import { Text } from "./text.js";

/** A conversation as its contact sees it, and the forms that write into it. */
export function Chat() {
  const current = party.value;
  const place = workspace.value;
  if (current === null || place === null) return <p class="text-light p-4">{t("chat.pick")}</p>;
  const { contactId, contactName, conversationId } = current;
  const id = `${place.name} ${contactId} ${conversationId}`;
  return (
    <>
      <div class="head hstack gap-2">
        <h2>{contactName === "" ? t("conversations.noName") : <Text>{contactName}</Text>}</h2>
        <p class="text-light">
          <Text>{contactId}</Text> · {t("conversations.number", { id: conversationId })}
        </p>
        {data.value.scope.conversation !== null && (
          <CopyButton
            compact
            icon="link"
            label={t("conversations.copyLink")}
            text={async () => new URL(writeAddress(data.value.scope), location.href).href}
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
        aria-label={t("chat.log")}
        tabIndex={0}
        onScroll={({ currentTarget }) => (following.value = isNearEnd(currentTarget))}
        // Pictures and players get their height when they are loaded.
        onLoadCapture={follow}
        data-testid="log"
      >
        {messages.value.length === 0 && <p class="text-light">{t("chat.empty")}</p>}
        {messages.value.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </div>
      {!following.value && <IconButton icon="down" label={t("chat.latest")} onClick={toEnd} />}
    </div>
  );
}

function isNearEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
}
