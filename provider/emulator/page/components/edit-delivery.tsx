import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { DeliveryView } from "../../control/shapes.js";
import { resend } from "../actions.js";
import { readInClear } from "../api.js";
import { t } from "../i18n/translate.js";
import { FormDialog } from "./dialog.js";
import { Check } from "./field.js";
import { Tool } from "./tool.js";

/** Sends a delivery again with another body, signed for it unless the old signature is wanted. */
export function EditDelivery({ id }: { id: string }) {
  const body = useSignal<string | null>(null);
  const sign = useSignal(true);
  const field = useId();
  async function open(): Promise<void> {
    body.value = (await readInClear<DeliveryView>(["deliveries", id])).sent.body;
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
        <div class="field">
          <label for={field}>{t("wire.body")}</label>
          <textarea
            id={field}
            class="mono"
            rows={12}
            spellcheck={false}
            autofocus
            value={body.value ?? ""}
            onInput={({ currentTarget }) => (body.value = currentTarget.value)}
          />
        </div>
        <Check checked={sign.value} onChange={(checked) => (sign.value = checked)}>
          {t("wire.editSign")}
        </Check>
      </FormDialog>
    </>
  );
}
