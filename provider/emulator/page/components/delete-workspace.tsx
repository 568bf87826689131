import { useSignal } from "@preact/signals";
import { deleteWorkspace } from "../actions.js";
import { t } from "../i18n/translate.js";
import { FormDialog } from "./dialog.js";

/** Removes a workspace, after asking. */
export function DeleteWorkspace({ name }: { name: string }) {
  const open = useSignal(false);
  return (
    <>
      <button type="button" class="small" onClick={() => (open.value = true)}>
        {t("workspaces.delete")}
      </button>
      <FormDialog
        title={t("workspaces.deleteTitle", { name })}
        open={open.value}
        onClose={() => (open.value = false)}
        action={() => deleteWorkspace(name)}
        submit={t("workspaces.delete")}
        danger
      >
        <p>{t("workspaces.deleteExplain")}</p>
      </FormDialog>
    </>
  );
}
