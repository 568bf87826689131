import { useSignal, type Signal } from "@preact/signals";
import { MEDIA_KINDS } from "../../../../schema/message-kind.js";
import { sendAsAgent, sendAsContact } from "../actions.js";
import { t } from "../i18n/translate.js";
import type { ShownButton } from "../message-content.js";
import type { AgentInput, CardInput, ContactInput, Party } from "../outgoing-bodies.js";
import { Icon } from "./buttons.js";
import { bound, Field, Form, Select } from "./field.js";
import { ButtonRows, CardRows, emptyButton, emptyCard } from "./template-rows.js";

const ROLES = ["contact", "agent"] as const;

type Role = (typeof ROLES)[number];

/** A contact has no templates. */
const KINDS = {
  contact: ["text", ...MEDIA_KINDS],
  agent: ["text", "button_template", "generic_template", ...MEDIA_KINDS],
} as const;

type Kind = (typeof KINDS)["agent"][number];

interface Props {
  workspace: string;
  party: Party;
}

/** Writes as the contact, or replies as the agent. The draft of the one is kept while the other writes. */
export function Composer(props: Props) {
  const chosen = useSignal<Role>("contact");
  return (
    <section id="composer" class="head vstack gap-2" aria-label={t("compose.panel")}>
      <div class="hstack" role="radiogroup" aria-label={t("compose.as")}>
        {ROLES.map((role) => (
          <label key={role} class="check">
            <input
              type="radio"
              name="write-as"
              value={role}
              checked={chosen.value === role}
              onChange={() => (chosen.value = role)}
              data-testid={`as-${role}`}
            />
            {t(`chat.from.${role}`)}
          </label>
        ))}
      </div>
      {ROLES.map((role) => (
        <div key={role} hidden={chosen.value !== role}>
          <ComposeForm from={role} {...props} />
        </div>
      ))}
    </section>
  );
}

/** The content of the form for all kinds: it is kept when another kind is chosen. */
interface Draft {
  text: Signal<string>;
  url: Signal<string>;
  buttons: Signal<readonly ShownButton[]>;
  cards: Signal<readonly CardInput[]>;
}

/** Writes a text or the address of a medium; as an agent also buttons and cards. */
function ComposeForm({ from, workspace, party }: Props & { from: Role }) {
  const kind = useSignal<Kind>("text");
  const draft: Draft = {
    text: useSignal(""),
    url: useSignal(""),
    buttons: useSignal<readonly ShownButton[]>([emptyButton()]),
    cards: useSignal<readonly CardInput[]>([emptyCard()]),
  };
  async function send(): Promise<void> {
    const input = inputOf(kind.value, draft);
    if (from === "agent") await sendAsAgent(workspace, party, input);
    else await sendAsContact(workspace, party, input as ContactInput);
    draft.text.value = "";
    draft.url.value = "";
    draft.buttons.value = [emptyButton()];
    draft.cards.value = [emptyCard()];
  }
  return (
    <Form class="compose" label={t(`chat.from.${from}`)} action={send}>
      <Select<Kind>
        label={t("compose.kind")}
        value={kind.value}
        options={KINDS[from].map((name) => [name, kindName(name)])}
        onChange={(chosen) => (kind.value = chosen)}
        hideLabel
        testId={`${from}-kind`}
      />
      <Fields from={from} kind={kind.value} draft={draft} />
      <button data-testid={`${from}-send`}>
        <Icon name="send" /> {from === "agent" ? t("compose.reply") : t("compose.send")}
      </button>
    </Form>
  );
}

function kindName(kind: Kind): string {
  const isMedia = kind === "image" || kind === "audio" || kind === "video" || kind === "file";
  return isMedia ? t(`media.${kind}`) : t(`compose.kind.${kind}`);
}

function Fields({ from, kind, draft }: { from: Role; kind: Kind; draft: Draft }) {
  const { text, url, buttons, cards } = draft;
  if (kind === "text") return <TextArea value={text} testId={`${from}-text`} />;
  if (kind === "button_template") {
    return (
      <div class="vstack gap-2">
        <TextArea value={text} testId={`${from}-text`} />
        <ButtonRows buttons={buttons.value} onChange={(changed) => (buttons.value = changed)} />
      </div>
    );
  }
  if (kind === "generic_template") {
    return (
      <div class="vstack gap-2">
        <Field label={t("compose.kind.text")} {...bound(text)} testId={`${from}-text`} />
        <CardRows cards={cards.value} onChange={(changed) => (cards.value = changed)} />
      </div>
    );
  }
  return (
    <Field label={t("compose.url")} {...bound(url)} type="url" required hideLabel testId={`${from}-url`} />
  );
}

function inputOf(kind: Kind, { text, url, buttons, cards }: Draft): AgentInput {
  if (kind === "text") return { kind, text: text.value };
  if (kind === "button_template") return { kind, text: text.value, buttons: [...buttons.value] };
  if (kind === "generic_template") return { kind, text: text.value, cards: [...cards.value] };
  return { kind, url: url.value };
}

/** A text of several lines: Enter submits its form, Shift+Enter starts a new line. */
function TextArea({ value, testId }: { value: Signal<string>; testId: string }) {
  return (
    <textarea
      rows={2}
      required
      value={value.value}
      placeholder={t("compose.placeholder")}
      dir="auto"
      aria-label={t("compose.kind.text")}
      onInput={(event) => (value.value = event.currentTarget.value)}
      onKeyDown={submitOnEnter}
      data-testid={testId}
    />
  );
}

/** While an input method composes a character, Enter belongs to it. */
function submitOnEnter(event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
