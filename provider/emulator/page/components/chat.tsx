import type { WorkspaceView } from "../../control/shapes.js";
import { MASK } from "../api.js";
import { shellQuote } from "../curl.js";
import { commandLine, messages, party, workspace } from "../store.js";
import { Composer } from "./composer.js";
import { Message } from "./message.js";
import { Text } from "./untrusted.js";
import { Value } from "./workspaces.js";

/** A conversation as its contact sees it, and the forms that write into it. */
export function Chat() {
  const current = party.value;
  const place = workspace.value;
  if (place === null) return <p class="text-light p-4">There is no workspace yet.</p>;
  if (current === null) return <Start />;
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

/** The messages, oldest first. In a reversed column the browser follows the latest one, unless it is scrolled up. */
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

const withKey = (command: string, { baseUrl, apiKey }: WorkspaceView): string =>
  `${apiKey === MASK ? "" : `APICHAT_API_KEY=${shellQuote(apiKey)} `}${command} --base-url ${shellQuote(baseUrl)}`;

/** What connects an endpoint to a workspace. A copy has the API key; a command that is shown without it asks for it. */
function Start() {
  const key = "APICHAT_VERIFICATION_KEY=a-key-that-nobody-guesses ";
  const set = `${key}${commandLine.value} webhook set --webhook-url http://127.0.0.1:4002/ --replace`;
  return (
    <div class="vstack p-4" data-testid="start">
      <p class="text-light">Choose a conversation or start a new one.</p>
      <dl>
        <Value label="Base URL" of={({ baseUrl }) => baseUrl} />
        <Value label="API key" of={({ apiKey }) => apiKey} />
        <Value label="Start an endpoint" of={() => `${key}${commandLine.value} listen --port 4002`} />
        <Value label="Register it in another terminal" of={(place) => withKey(set, place)} />
      </dl>
    </div>
  );
}
