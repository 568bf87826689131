import { useSignal } from "@preact/signals";
import type { TargetedKeyboardEvent } from "preact";
import { MEDIA_KINDS } from "../../../../schema/message-kind.js";
import { replyAsAgent, writeAsContact, type Draft } from "../actions.js";
import type { Party } from "../data.js";
import { Field, Form, Select } from "./form.js";
import { AUTHORS } from "./message.js";

const ROLES = ["contact", "agent"] as const;

/** What the form writes. A flow or the control API sends templates. */
const KINDS = ["text", ...MEDIA_KINDS] as const;

const EMPTY: Omit<Draft, "kind"> = { text: "", url: "" };

export function Composer({ party }: { party: Party }) {
  const role = useSignal<(typeof ROLES)[number]>("contact");
  const kind = useSignal<Draft["kind"]>("text");
  const draft = useSignal(EMPTY);
  const from = role.value;
  async function send(): Promise<void> {
    const sent = draft.value;
    const write = from === "agent" ? replyAsAgent : writeAsContact;
    await write(party, { kind: kind.value, ...sent });
    // Keeps text that was written meanwhile.
    if (draft.value === sent) draft.value = EMPTY;
  }
  return (
    <section id="composer" class="head vstack gap-2" aria-label="Write a message">
      <div class="hstack" role="radiogroup" aria-label="Write as">
        {ROLES.map((name) => (
          <label key={name} class="flex items-center gap-2">
            <input
              type="radio"
              name="write-as"
              checked={from === name}
              onChange={() => (role.value = name)}
              data-testid={`as-${name}`}
            />
            {AUTHORS[name]}
          </label>
        ))}
      </div>
      <Form class="compose" aria-label={AUTHORS[from]} action={send}>
        <Select
          label="Kind"
          value={kind.value}
          options={KINDS}
          onChange={(name) => (kind.value = name)}
          hideLabel
          data-testid={`${from}-kind`}
        />
        {kind.value === "text" ? (
          <textarea
            rows={2}
            required
            value={draft.value.text}
            placeholder="Write a message. Enter sends, Shift+Enter starts a new line."
            dir="auto"
            aria-label="Text"
            onInput={({ currentTarget }) => (draft.value = { ...draft.value, text: currentTarget.value })}
            onKeyDown={submitOnEnter}
            data-testid={`${from}-text`}
          />
        ) : (
          <Field
            label="URL of the media"
            value={draft.value.url}
            onText={(url) => (draft.value = { ...draft.value, url })}
            type="url"
            required
            hideLabel
            data-testid={`${from}-url`}
          />
        )}
        <button data-testid={`${from}-send`}>{from === "agent" ? "Reply" : "Send"}</button>
      </Form>
    </section>
  );
}

/** While an input method composes a character, Enter belongs to it. */
function submitOnEnter(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
