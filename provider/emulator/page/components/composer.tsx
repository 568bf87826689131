import { useSignal } from "@preact/signals";
import type { ComponentChildren, TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { MEDIA_KINDS } from "../../../../schema/message-kind.js";
import { sendAsAgent, sendAsContact } from "../actions.js";
import { KIND_NAMES, type Card, type ContactContent, type Party, type PostbackButton } from "../messages.js";
import { Icon, moveFocus, Tool } from "./buttons.js";
import { Field, Form, Select } from "./form.js";
import { AUTHORS } from "./message.js";

/** The kinds of message for each role: a contact has no templates. */
const KINDS = {
  contact: ["text", ...MEDIA_KINDS],
  agent: ["text", "button_template", "generic_template", ...MEDIA_KINDS],
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

const emptyCard = (): Card => ({ title: "", subtitle: "", image_url: "", item_url: "", buttons: [] });

/** The content of the form for all kinds, so that it is kept when another kind is chosen. */
const emptyDraft = () => ({ text: "", url: "", buttons: [emptyButton()], cards: [emptyCard()] });

/** Writes a text or the address of a medium; as an agent also buttons and cards. */
function ComposeForm({ from, party }: { from: keyof typeof KINDS; party: Party }) {
  const chosen = useSignal<Kind>("text");
  const draft = useSignal(emptyDraft());
  const kind = chosen.value;
  const { text, url, buttons, cards } = draft.value;
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
            required={kind !== "generic_template"}
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
        {kind === "generic_template" && (
          <CardRows cards={cards} onChange={(changed) => set({ cards: changed })} />
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

interface Row<Item> {
  item: Item;
  number: number;
  set: (part: Partial<Item>) => void;
  remove: (event: TargetedMouseEvent<HTMLButtonElement>) => void;
}

interface RowsProps<Item> {
  items: readonly Item[];
  onChange: (items: Item[]) => void;
  /** The label of the button that adds an item. */
  add: string;
  create: () => Item;
  children: (row: Row<Item>) => ComponentChildren;
}

/** A list of any length: a row for each item, and a button that adds one. */
function Rows<Item>({ items, onChange, add, create, children }: RowsProps<Item>) {
  return (
    <div class="vstack gap-2 rows">
      {items.map((item, index) =>
        children({
          item,
          number: index + 1,
          set: (part) => onChange(items.with(index, { ...item, ...part })),
          remove: ({ currentTarget }) => {
            moveFocus(currentTarget, ".rows", ":scope > button");
            onChange(items.toSpliced(index, 1));
          },
        }),
      )}
      <Tool icon="plus" label={add} action={() => onChange([...items, create()])} />
    </div>
  );
}

interface ButtonRowsProps {
  buttons: readonly PostbackButton[];
  onChange: (buttons: PostbackButton[]) => void;
}

/** The buttons of a template: title and payload. */
function ButtonRows({ buttons, onChange }: ButtonRowsProps) {
  return (
    <Rows items={buttons} onChange={onChange} add="Add button" create={emptyButton}>
      {({ item, number, set, remove }) => (
        <div key={number} class="flex items-center gap-1">
          <Field
            hideLabel
            label={`Title of button ${number}`}
            value={item.title}
            required
            onText={(title) => set({ title })}
          />
          <Field
            hideLabel
            label={`Payload of button ${number}`}
            value={item.payload}
            onText={(payload) => set({ payload })}
          />
          <Tool compact icon="close" label={`Remove button ${number}`} action={remove} />
        </div>
      )}
    </Rows>
  );
}

const CARD_FIELDS = [
  { name: "title", label: "Title", required: true },
  { name: "subtitle", label: "Subtitle" },
  { name: "image_url", label: "Picture URL", type: "url" },
  { name: "item_url", label: "Link URL", type: "url" },
] as const;

/** The cards of a carousel. */
function CardRows({ cards, onChange }: { cards: readonly Card[]; onChange: (cards: Card[]) => void }) {
  return (
    <Rows items={cards} onChange={onChange} add="Add card" create={emptyCard}>
      {({ item, number, set, remove }) => (
        <fieldset key={number} class="card vstack gap-2">
          <legend>Card {number}</legend>
          <div class="pairs">
            {CARD_FIELDS.map(({ name, label, ...field }) => (
              <Field
                key={name}
                {...field}
                hideLabel
                label={label}
                value={item[name]}
                onText={(text) => set({ [name]: text })}
              />
            ))}
          </div>
          <ButtonRows buttons={item.buttons} onChange={(buttons) => set({ buttons })} />
          <Tool label={`Remove card ${number}`} action={remove} />
        </fieldset>
      )}
    </Rows>
  );
}
