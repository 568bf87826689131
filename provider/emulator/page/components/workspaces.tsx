import type { ComponentChildren } from "preact";
import type { WorkspaceView } from "../../control/shapes.js";
import { begin, choose } from "../actions.js";
import type { Scope } from "../data.js";
import { send } from "../api.js";
import { timeOf } from "../times.js";
import { attempt } from "../errors.js";
import { begun, connection, conversations, data, workspace } from "../store.js";
import { Field, Form, Select, type Fields } from "./form.js";
import { closePopover, Popover } from "./popover.js";
import { Code, Text, visibleText } from "./untrusted.js";

export function WorkspacePanel() {
  const { workspaces } = data.value;
  return (
    <>
      <h2 class="head">Workspaces</h2>
      {workspaces.size === 0 && connection.value === "live" && (
        <p class="text-light p-4">There is no workspace yet.</p>
      )}
      <ul class="list" data-testid="workspaces">
        {[...workspaces.values()].map(({ name, registration }) => (
          <Choice key={name} workspace={name} conversation={null}>
            <strong>{visibleText(name)}</strong>
            <StatusBadge registration={registration} />
          </Choice>
        ))}
      </ul>
      {workspace.value !== null && (
        <>
          <Registration key={workspace.value.name} {...workspace.value} />
          <ConversationList />
        </>
      )}
    </>
  );
}

/** A workspace or conversation of a list. */
function Choice({ children, ...target }: Scope & { children: ComponentChildren }) {
  const { scope } = data.value;
  const kind = target.conversation === null ? "workspace" : "conversation";
  return (
    <li>
      <button
        type="button"
        class="ghost"
        aria-current={target[kind] === scope[kind] || undefined}
        onClick={() => choose(target)}
      >
        {children}
      </button>
    </li>
  );
}

function StatusBadge({ registration }: Pick<WorkspaceView, "registration">) {
  const status = registration?.webhook_status ?? "";
  if (status === "") return <span class="badge outline">not registered</span>;
  return (
    <span class="badge" data-variant={status === "verified" ? "success" : "warning"}>
      {visibleText(status)}
    </span>
  );
}

function Registration({ name, flow, flows, registration, ...known }: WorkspaceView) {
  async function chooseFlow(chosen: string): Promise<void> {
    const isDone = await attempt(() => send("PATCH", ["workspaces", name], { flow: chosen }));
    // Redraw the control, which still shows the rejected value.
    if (!isDone) data.value = { ...data.value };
  }
  return (
    <section class="card vstack gap-2" aria-label="Registration" data-testid="registration">
      <dl>
        <Value label="Webhook" value={registration?.webhook_url} />
        <Value label="Bot URL" value={known.botUrl} />
      </dl>
      <Select label="Flow that replies" value={flow} options={flows} onChange={chooseFlow} />
      <details>
        <summary>Addresses and keys</summary>
        <dl>
          <Value label="Base URL" value={known.baseUrl} />
          <Value label="API key" value={known.apiKey} />
          <Value label="Flow API key" value={known.flowApiKey} />
          <Value label="Verification key" value={registration?.webhook_verification_key} />
        </dl>
      </details>
    </section>
  );
}

function Value({ label, value = "–" }: { label: string; value: string | undefined }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>
        <Code>{value}</Code>
      </dd>
    </>
  );
}

function ConversationList() {
  return (
    <section aria-label="Conversations">
      <div class="head hstack justify-between">
        <h2>Conversations</h2>
        <NewConversation />
      </div>
      {conversations.value.length === 0 && begun.value === null && (
        <p class="text-light p-4">No conversation yet. Start one and write as its contact.</p>
      )}
      <ul class="list" data-testid="conversations">
        {conversations.value.map(({ id, messageCount: count, lastAt, ...item }) => (
          <Choice key={id} workspace={item.workspace} conversation={id}>
            <strong>{item.contactName === "" ? <em>no name</em> : <Text>{item.contactName}</Text>}</strong>
            <time dateTime={lastAt}>{timeOf(lastAt)}</time>
            <small>
              Contact <Text>{item.contactId}</Text> · Conversation {item.conversationId} ·{" "}
              {count === 1 ? "1 message" : `${count} messages`}
            </small>
          </Choice>
        ))}
      </ul>
    </section>
  );
}

/** Proposes a contact and a conversation that are not in the list. */
function NewConversation() {
  const next = conversations.value.length + 1;
  return (
    <Popover title="New conversation" data-testid="new-conversation">
      <Form action={start} class="vstack">
        <Field label="Contact id" name="contactId" defaultValue={`contact-${next}`} required autofocus />
        <Field label="Contact name" name="contactName" defaultValue="Maria Souza" />
        <Field
          label="Conversation id, a whole number"
          name="conversationId"
          defaultValue={String(next)}
          pattern="-?(0|[1-9][0-9]*)"
          required
        />
        <button data-testid="submit">Start conversation</button>
      </Form>
    </Popover>
  );
}

async function start({ contactId = "", contactName = "", conversationId = "" }: Fields): Promise<void> {
  begin({ contactId, contactName, conversationId });
  closePopover();
  requestAnimationFrame(() => document.querySelector<HTMLElement>("#composer textarea")?.focus());
}
