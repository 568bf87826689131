import { useSignal } from "@preact/signals";
import type { TargetedKeyboardEvent } from "preact";
import { MEDIA_KINDS } from "../../../../schema/message-kind.js";
import { replyAsAgent, writeAsContact, type Draft } from "../actions.js";
import type { Party } from "../data.js";
import { Form, Select } from "./form.js";
import { AUTHORS } from "./message.js";

const ROLES = ["contact", "agent"] as const;

/** What the form can send. Only flows and the control API send templates. */
const KINDS = ["text", ...MEDIA_KINDS] as const;

export function Composer({ party }: { party: Party }) {
  const role = useSignal<(typeof ROLES)[number]>("contact");
  const kind = useSignal<Draft["kind"]>("text");
  const content = useSignal("");
  async function send(): Promise<void> {
    const sent = content.value;
    const write = role.value === "agent" ? replyAsAgent : writeAsContact;
    await write(party, { kind: kind.value, content: sent });
    // Keep text that was typed in the meantime.
    if (content.value === sent) content.value = "";
  }
  const label = kind.value === "text" ? "Text" : "URL of the media";
  return (
    <Form id="composer" class="head" aria-label="Write a message" action={send}>
      <Select
        label="Write as"
        value={role.value}
        options={ROLES}
        nameOf={(name) => AUTHORS[name]}
        onChange={(name) => (role.value = name)}
      />
      <Select label="Kind" value={kind.value} options={KINDS} onChange={(name) => (kind.value = name)} />
      <textarea
        rows={2}
        required
        value={content.value}
        placeholder={`${label}. Enter sends, Shift+Enter starts a new line.`}
        dir="auto"
        aria-label={label}
        onInput={({ currentTarget }) => (content.value = currentTarget.value)}
        onKeyDown={submitOnEnter}
        data-testid="content"
      />
      <button data-testid="send">Send</button>
    </Form>
  );
}

/** While an input method composes a character, Enter belongs to it. */
function submitOnEnter(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
