import { useSignal, type Signal } from "@preact/signals";
import { MEDIA_KINDS } from "../../../../schema/media-kind.js";
import { sendAsAgent, sendAsContact } from "../actions.js";
import { t } from "../i18n/translate.js";
import type { ShownButton } from "../message-content.js";
import type { AgentInput, CardInput, ContactInput, Party } from "../outgoing-bodies.js";
import { ButtonRows, emptyButton } from "./button-rows.js";
import { CardRows, emptyCard } from "./card-rows.js";
import { bound, Field, Select } from "./field.js";
import { Form } from "./form.js";
import { Icon } from "./icon.js";
import { TextArea } from "./text-area.js";

const KINDS = ["text", "button_template", "generic_template", ...MEDIA_KINDS] as const;

/** A contact has no templates. */
const CONTACT_KINDS = ["text", ...MEDIA_KINDS] as const;

type Kind = (typeof KINDS)[number];

/** What the form holds, for all kinds: what was filled in stays when another kind is chosen. */
interface Draft {
  text: Signal<string>;
  url: Signal<string>;
  buttons: Signal<readonly ShownButton[]>;
  cards: Signal<readonly CardInput[]>;
}

interface Props {
  from: "contact" | "agent";
  workspace: string;
  party: Party;
}

/** Writes a text or the address of a medium; as an agent also buttons and cards. */
export function ComposeForm({ from, workspace, party }: Props) {
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
    clear(draft);
  }
  const kinds: readonly Kind[] = from === "agent" ? KINDS : CONTACT_KINDS;
  return (
    <Form class="compose" label={t(`compose.${from}`)} action={send}>
      <Select
        label={t("compose.kind")}
        value={kind.value}
        options={kinds.map((name) => [name, t(`compose.kind.${name}`)])}
        onChange={(chosen) => (kind.value = chosen)}
        hideLabel
        testId={`${from}-kind`}
      />
      <Fields from={from} kind={kind.value} draft={draft} />
      <button class="primary" data-testid={`${from}-send`}>
        <Icon name="send" /> {from === "agent" ? t("compose.reply") : t("compose.send")}
      </button>
    </Form>
  );
}

function Fields({ from, kind, draft }: { from: Props["from"]; kind: Kind; draft: Draft }) {
  const { text, url, buttons, cards } = draft;
  if (kind === "text") return <TextArea value={text} testId={`${from}-text`} />;
  if (kind === "button_template") {
    return (
      <div class="rows">
        <TextArea value={text} testId={`${from}-text`} />
        <ButtonRows buttons={buttons.value} onChange={(changed) => (buttons.value = changed)} />
      </div>
    );
  }
  if (kind === "generic_template") {
    return (
      <div class="rows">
        <Field label={t("compose.text")} {...bound(text)} testId={`${from}-text`} />
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

function clear({ text, url, buttons, cards }: Draft): void {
  text.value = "";
  url.value = "";
  buttons.value = [emptyButton()];
  cards.value = [emptyCard()];
}
