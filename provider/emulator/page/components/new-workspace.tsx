import { useSignal } from "@preact/signals";
import { createWorkspace } from "../actions.js";
import { t } from "../i18n/translate.js";
import { Dialog } from "./dialog.js";
import { Field } from "./field.js";
import { Form } from "./form.js";

/** Makes a workspace over the control API. */
export function NewWorkspace({ open, onClose }: { open: boolean; onClose: () => void }) {
  const name = useSignal("");
  const apiKey = useSignal("");
  return (
    <Dialog title={t("workspaces.new")} open={open} onClose={onClose}>
      <Form class="stack" action={() => createWorkspace(name.value, apiKey.value)} onDone={onClose}>
        <Field
          label={t("workspaces.name")}
          hint={t("workspaces.nameHint")}
          value={name}
          pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
          required
          autofocus
        />
        <Field label={t("workspaces.apiKey")} value={apiKey} required />
        <div class="row end">
          <button type="button" onClick={onClose}>
            {t("app.cancel")}
          </button>
          <button class="primary">{t("workspaces.create")}</button>
        </div>
      </Form>
    </Dialog>
  );
}
