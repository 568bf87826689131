import { messages, party, workspace } from "../store.js";
import { Composer } from "./composer.js";
import { Message } from "./message.js";
import { Text } from "./untrusted.js";

/** A conversation as its contact sees it, and the forms that write into it. */
export function Chat() {
  const current = party.value;
  const place = workspace.value;
  if (place === null) return <p class="text-light p-4">There is no workspace yet.</p>;
  if (current === null) return <p class="text-light p-4">Choose a conversation or start a new one.</p>;
  const { contactId, contactName, conversationId } = current;
  const id = `${place.name} ${contactId} ${conversationId}`;
  return (
    <>
      <div class="head hstack gap-2">
        <h2>{contactName === "" ? "no name" : <Text>{contactName}</Text>}</h2>
        <p class="text-light">
          <Text>{contactId}</Text> · Conversation {conversationId}
        </p>
      </div>
      <MessageLog key={id} />
      <Composer key={`${id} composer`} party={current} />
    </>
  );
}

/** The messages, oldest first. In a reversed column, the browser follows the latest unless the user scrolls up. */
function MessageLog() {
  return (
    <div class="log flex" role="log" aria-live="polite" aria-label="Messages" tabIndex={0}>
      <div class="vstack p-4">
        {messages.value.length === 0 && (
          <p class="text-light">No messages yet. The first one opens the conversation.</p>
        )}
        {messages.value.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </div>
    </div>
  );
}
