import { useSignal, type Signal } from "@preact/signals";
import { MEDIA_KINDS } from "../../../../schema/media-kind.js";
import { sendAsAgent } from "../actions.js";
import { t } from "../i18n/translate.js";
import type { AgentInput, CardInput, Party } from "../outgoing-bodies.js";
import type { ShownButton } from "../message-content.js";
import { ButtonRows, emptyButton } from "./button-rows.js";
import { CardRows, emptyCard } from "./card-rows.js";
import { Field, Select } from "./field.js";
import { Form } from "./form.js";
import { Icon } from "./icon.js";
import { TextArea } from "./text-area.js";

const KINDS = ["text", "button_template", "generic_template", ...MEDIA_KINDS] as const;

type Kind = (typeof KINDS)[number];

/** What the form holds, for all kinds: what was filled in stays when another kind is chosen. */
interface Draft {
  text: Signal<string>;
  url: Signal<string>;
  buttons: Signal<readonly ShownButton[]>;
  cards: Signal<readonly CardInput[]>;
}

/** Answers as an agent, in any of the seven kinds. */
export function AgentComposer({ workspace, party }: { workspace: string; party: Party }) {
  const kind = useSignal<Kind>("text");
  const draft: Draft = {
    text: useSignal(""),
    url: useSignal(""),
    buttons: useSignal<readonly ShownButton[]>([emptyButton()]),
    cards: useSignal<readonly CardInput[]>([emptyCard()]),
  };
  async function send(): Promise<void> {
    await sendAsAgent(workspace, party, inputOf(kind.value, draft));
    clear(draft);
  }
  return (
    <Form class="compose" label={t("compose.agent")} action={send}>
      <Select
        label={t("compose.kind")}
        value={kind.value}
        options={KINDS.map((name) => [name, t(`compose.kind.${name}`)])}
        onChange={(chosen) => (kind.value = chosen)}
        hideLabel
        testId="agent-kind"
      />
      <Fields kind={kind.value} draft={draft} />
      <button class="primary" data-testid="agent-send">
        <Icon name="send" /> {t("compose.reply")}
      </button>
    </Form>
  );
}

function Fields({ kind, draft }: { kind: Kind; draft: Draft }) {
  switch (kind) {
    case "text":
      return <TextArea value={draft.text} testId="agent-text" />;
    case "button_template":
      return (
        <div class="rows">
          <TextArea value={draft.text} testId="agent-text" />
          <ButtonRows buttons={draft.buttons.value} onChange={(buttons) => (draft.buttons.value = buttons)} />
        </div>
      );
    case "generic_template":
      return (
        <div class="rows">
          <Field label={t("compose.text")} value={draft.text} testId="agent-text" />
          <CardRows cards={draft.cards.value} onChange={(cards) => (draft.cards.value = cards)} />
        </div>
      );
    case "image":
    case "audio":
    case "video":
    case "file":
    default:
      return (
        <Field label={t("compose.url")} value={draft.url} type="url" required hideLabel testId="agent-url" />
      );
  }
}

function inputOf(kind: Kind, { text, url, buttons, cards }: Draft): AgentInput {
  switch (kind) {
    case "text":
      return { kind, text: text.value };
    case "button_template":
      return { kind, text: text.value, buttons: [...buttons.value] };
    case "generic_template":
      return { kind, text: text.value, cards: [...cards.value] };
    case "image":
    case "audio":
    case "video":
    case "file":
    default:
      return { kind, url: url.value };
  }
}

function clear({ text, url, buttons, cards }: Draft): void {
  text.value = "";
  url.value = "";
  buttons.value = [emptyButton()];
  cards.value = [emptyCard()];
}
