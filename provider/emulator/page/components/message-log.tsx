import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n/translate.js";
import { messages } from "../store.js";
import { Icon } from "./icon.js";
import { Message } from "./message.js";

/** So near to the end somebody reads the latest message, and goes on with the next one. */
const NEAR_END_PX = 80;

/** The messages, oldest first. It follows the latest one, unless somebody has scrolled up. */
export function MessageLog() {
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
        class="log"
        role="log"
        aria-live="polite"
        aria-label={t("chat.log")}
        tabIndex={0}
        onScroll={({ currentTarget }) => (following.value = isNearEnd(currentTarget))}
        // Pictures and players get their height when they are loaded.
        onLoadCapture={follow}
        data-testid="log"
      >
        {messages.value.length === 0 && <p class="blank">{t("chat.empty")}</p>}
        {messages.value.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </div>
      {!following.value && (
        <button type="button" class="to-end" onClick={toEnd} aria-label={t("chat.latest")}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function isNearEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
}
