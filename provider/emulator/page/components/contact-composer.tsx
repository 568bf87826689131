import { useSignal } from "@preact/signals";
import { MEDIA_KINDS } from "../../../../schema/media-kind.js";
import { sendAsContact } from "../actions.js";
import { t } from "../i18n/translate.js";
import type { Party } from "../outgoing-bodies.js";
import { Field, Select } from "./field.js";
import { Form } from "./form.js";
import { Icon } from "./icon.js";
import { TextArea } from "./text-area.js";

const KINDS = ["text", ...MEDIA_KINDS] as const;

/** Writes as the contact: a text, or the address of a medium. */
export function ContactComposer({ workspace, party }: { workspace: string; party: Party }) {
  const kind = useSignal<(typeof KINDS)[number]>("text");
  const text = useSignal("");
  const url = useSignal("");
  async function send(): Promise<void> {
    const sent = kind.value;
    if (sent === "text") await sendAsContact(workspace, party, { kind: sent, text: text.value });
    else await sendAsContact(workspace, party, { kind: sent, url: url.value });
    if (sent === "text") text.value = "";
    else url.value = "";
  }
  return (
    <Form class="compose" label={t("compose.contact")} action={send}>
      <Select
        label={t("compose.kind")}
        value={kind.value}
        options={KINDS.map((name) => [name, t(`compose.kind.${name}`)])}
        onChange={(chosen) => (kind.value = chosen)}
        hideLabel
        testId="contact-kind"
      />
      {kind.value === "text" ? (
        <TextArea value={text} testId="contact-text" />
      ) : (
        <Field label={t("compose.url")} value={url} type="url" required hideLabel testId="contact-url" />
      )}
      <button class="primary" data-testid="contact-send">
        <Icon name="send" /> {t("compose.send")}
      </button>
    </Form>
  );
}
