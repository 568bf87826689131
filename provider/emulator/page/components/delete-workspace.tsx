import { useSignal } from "@preact/signals";
import { deleteWorkspace } from "../actions.js";
import { t } from "../i18n/translate.js";
import { FormDialog } from "./dialog.js";
import { Tool } from "./tool.js";

/** Removes a workspace, after asking. */
export function DeleteWorkspace({ name }: { name: string }) {
  const open = useSignal(false);
  return (
    <>
      <Tool label={t("workspaces.delete")} action={async () => (open.value = true)} />
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
