import { writeAddress } from "../address.js";
import { t } from "../i18n/translate.js";
import { data, party, workspace } from "../store.js";
import { Composer } from "./composer.js";
import { CopyButton } from "./copy-button.js";
import { MessageLog } from "./message-log.js";
import { Text } from "./text.js";

/** A conversation as its contact sees it, and what can be written into it. */
export function Chat() {
  const current = party.value;
  const place = workspace.value;
  if (current === null || place === null) return <p class="blank">{t("chat.pick")}</p>;
  const { contactId, contactName, conversationId } = current;
  const id = `${place.name} ${contactId} ${conversationId}`;
  return (
    <>
      <div class="chat-head">
        <h2>{contactName === "" ? t("conversations.noName") : <Text>{contactName}</Text>}</h2>
        <p class="muted">
          <Text>{contactId}</Text> · {t("conversations.number", { id: conversationId })}{" "}
          {data.value.scope.conversation !== null && (
            <CopyButton
              compact
              icon="link"
              label={t("conversations.copyLink")}
              text={async () => new URL(writeAddress(data.value.scope), location.href).href}
            />
          )}
        </p>
      </div>
      <MessageLog key={id} />
      <Composer key={`${id} composer`} workspace={place.name} party={current} />
    </>
  );
}
