import { useSignal } from "@preact/signals";
import { createWorkspace } from "../actions.js";
import { t } from "../i18n/translate.js";
import { FormDialog } from "./dialog.js";
import { bound, Field } from "./field.js";

/** Makes a workspace over the control API. */
export function NewWorkspace(opened: { open: boolean; onClose: () => void }) {
  const name = useSignal("");
  const apiKey = useSignal("");
  return (
    <FormDialog
      {...opened}
      title={t("workspaces.new")}
      action={() => createWorkspace(name.value, apiKey.value)}
      submit={t("workspaces.create")}
    >
      <Field
        label={t("workspaces.name")}
        hint={t("workspaces.nameHint")}
        {...bound(name)}
        pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
        required
        autofocus
      />
      <Field label={t("workspaces.apiKey")} {...bound(apiKey)} required />
    </FormDialog>
  );
}
