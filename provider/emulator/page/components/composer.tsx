import { useSignal } from "@preact/signals";
import type { TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { MEDIA_KINDS } from "../../../../schema/message-kind.js";
import { sendAsAgent, sendAsContact } from "../actions.js";
import { KIND_NAMES, type ContactContent, type Party, type PostbackButton } from "../messages.js";
import { Icon, moveFocus, Tool } from "./buttons.js";
import { Field, Form, Select } from "./form.js";
import { AUTHORS } from "./message.js";

/** The kinds of message for each role: only an agent has buttons. A flow or the control API sends a carousel. */
const KINDS = {
  contact: ["text", ...MEDIA_KINDS],
  agent: ["text", "button_template", ...MEDIA_KINDS],
} as const;

type Kind = (typeof KINDS)["agent"][number];

const ROLES = ["contact", "agent"] as const;

/** Writes as the contact, or replies as the agent. Each role keeps its draft while the other writes. */
export function Composer({ party }: { party: Party }) {
  const chosen = useSignal<keyof typeof KINDS>("contact");
  return (
    <section id="composer" class="head vstack gap-2" aria-label="Write a message">
      <div class="hstack" role="radiogroup" aria-label="Write as">
        {ROLES.map((role) => (
          <label key={role} class="flex items-center gap-2">
            <input
              type="radio"
              name="write-as"
              checked={chosen.value === role}
              onChange={() => (chosen.value = role)}
              data-testid={`as-${role}`}
            />
            {AUTHORS[role]}
          </label>
        ))}
      </div>
      {ROLES.map((role) => (
        <div key={role} hidden={chosen.value !== role}>
          <ComposeForm from={role} party={party} />
        </div>
      ))}
    </section>
  );
}

const emptyButton = (): PostbackButton => ({ title: "", payload: "" });

/** The content of the form for all kinds, so that it is kept when another kind is chosen. */
const emptyDraft = () => ({ text: "", url: "", buttons: [emptyButton()] });

/** Writes a text or the address of a medium; as an agent also buttons. */
function ComposeForm({ from, party }: { from: keyof typeof KINDS; party: Party }) {
  const chosen = useSignal<Kind>("text");
  const draft = useSignal(emptyDraft());
  const kind = chosen.value;
  const { text, url, buttons } = draft.value;
  const set = (part: Partial<ReturnType<typeof emptyDraft>>) => {
    draft.value = { ...draft.value, ...part };
  };
  async function send(): Promise<void> {
    const sent = draft.value;
    const content = { kind, ...sent };
    if (from === "agent") await sendAsAgent(party, content);
    else await sendAsContact(party, content as ContactContent);
    // What was written meanwhile is not sent yet.
    if (draft.value === sent) draft.value = emptyDraft();
  }
  return (
    <Form class="compose" aria-label={AUTHORS[from]} action={send}>
      <Select<Kind>
        label="Kind"
        value={kind}
        options={KINDS[from]}
        nameOf={(name) => KIND_NAMES[name]}
        onChange={(name) => (chosen.value = name)}
        hideLabel
        data-testid={`${from}-kind`}
      />
      <div class="vstack gap-2">
        {!isMedia(kind) && (
          <textarea
            rows={2}
            required
            value={text}
            placeholder="Write a message. Enter sends, Shift+Enter starts a new line."
            dir="auto"
            aria-label="Text"
            onInput={({ currentTarget }) => set({ text: currentTarget.value })}
            onKeyDown={submitOnEnter}
            data-testid={`${from}-text`}
          />
        )}
        {kind === "button_template" && (
          <ButtonRows buttons={buttons} onChange={(changed) => set({ buttons: changed })} />
        )}
        {isMedia(kind) && (
          <Field
            label="URL of the media"
            value={url}
            onText={(changed) => set({ url: changed })}
            type="url"
            required
            hideLabel
            data-testid={`${from}-url`}
          />
        )}
      </div>
      <button data-testid={`${from}-send`}>
        <Icon name="send" /> {from === "agent" ? "Reply" : "Send"}
      </button>
    </Form>
  );
}

const isMedia = (kind: Kind): boolean => MEDIA_KINDS.some((media) => media === kind);

/** While an input method composes a character, Enter belongs to it. */
function submitOnEnter(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

interface ButtonRowsProps {
  buttons: readonly PostbackButton[];
  onChange: (buttons: PostbackButton[]) => void;
}

/** The buttons of a template, any number of them: title and payload. */
function ButtonRows({ buttons, onChange }: ButtonRowsProps) {
  const set = (index: number, part: Partial<PostbackButton>) =>
    onChange(buttons.map((button, at) => (at === index ? { ...button, ...part } : button)));
  function remove({ currentTarget }: TargetedMouseEvent<HTMLButtonElement>, index: number): void {
    moveFocus(currentTarget, ".rows", ":scope > button");
    onChange(buttons.toSpliced(index, 1));
  }
  return (
    <div class="vstack gap-2 rows">
      {buttons.map(({ title, payload }, index) => (
        <div key={index} class="flex items-center gap-1">
          <Field
            hideLabel
            label={`Title of button ${index + 1}`}
            value={title}
            required
            onText={(text) => set(index, { title: text })}
          />
          <Field
            hideLabel
            label={`Payload of button ${index + 1}`}
            value={payload}
            onText={(text) => set(index, { payload: text })}
          />
          <Tool
            compact
            icon="close"
            label={`Remove button ${index + 1}`}
            action={(event) => remove(event, index)}
          />
        </div>
      ))}
      <Tool icon="plus" label="Add button" action={() => onChange([...buttons, emptyButton()])} />
    </div>
  );
}
