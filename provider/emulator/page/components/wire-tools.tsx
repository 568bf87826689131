import { useSignal } from "@preact/signals";
import type { DeliveryView } from "../../control/shapes.js";
import { resend } from "../actions.js";
import { writeAddress } from "../address.js";
import { IN_CLEAR, read } from "../api.js";
import { curlCommand } from "../curl.js";
import { t } from "../i18n/translate.js";
import { conversationOf, curlRequestOf, ROUTES, type Exchange } from "../wire.js";
import { CopyButton, Tool } from "./buttons.js";
import { FormDialog } from "./dialog.js";
import { BoundCheck } from "./field.js";

/** The actions on an exchange. A copy holds what was sent; a saved file, which is passed on, holds what the page shows. */
export function WireTools({ entry }: { entry: Exchange }) {
  const { kind, record } = entry;
  const { id, workspace } = record;
  async function copyCurl(): Promise<string> {
    const inClear = { kind, record: await read([ROUTES[kind], id], IN_CLEAR) } as Exchange;
    return curlCommand(curlRequestOf(inClear));
  }
  async function copyLink(): Promise<string> {
    const scope = { workspace, conversation: conversationOf(entry) };
    return new URL(writeAddress(scope, { kind, id }), location.href).href;
  }
  return (
    <div class="hstack gap-2" role="group" aria-label={t("wire.tools")}>
      {kind === "delivery" && (
        <>
          <Tool label={t("wire.resend")} icon="again" action={() => resend(id)} testId="resend" />
          <Tool label={t("wire.sign")} icon="again" action={() => resend(id, { sign: true })} testId="sign" />
          <EditDelivery id={id} />
        </>
      )}
      <CopyButton label={t("wire.curl")} text={copyCurl} done={t("copy.inClear")} />
      <CopyButton label={t("copy.link")} icon="link" text={copyLink} />
      <Tool label={t("wire.save")} icon="save" action={() => download(`${kind}-${id}.json`, record)} />
    </div>
  );
}

/** Sends a delivery again with another body, signed for it unless the old signature is wanted. */
function EditDelivery({ id }: { id: string }) {
  const body = useSignal<string | null>(null);
  const sign = useSignal(true);
  async function open(): Promise<void> {
    body.value = (await read<DeliveryView>(["deliveries", id], IN_CLEAR)).request.body;
  }
  return (
    <>
      <Tool label={t("wire.edit")} icon="pen" action={open} testId="edit" />
      <FormDialog
        title={t("wire.editTitle")}
        open={body.value !== null}
        onClose={() => (body.value = null)}
        action={() => resend(id, { body: body.value ?? "", sign: sign.value })}
        submit={t("compose.send")}
      >
        <label class="field">
          {t("wire.body")}
          <code>
            <textarea
              rows={12}
              spellcheck={false}
              autofocus
              value={body.value ?? ""}
              onInput={({ currentTarget }) => (body.value = currentTarget.value)}
            />
          </code>
        </label>
        <BoundCheck signal={sign}>{t("wire.editSign")}</BoundCheck>
      </FormDialog>
    </>
  );
}

/** The time a browser may take before it begins with a download. */
const KEPT_MS = 60_000;

/** Saves a value as a file of JSON. */
function download(name: string, value: unknown): void {
  const file = new Blob([JSON.stringify(value, null, 2)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
