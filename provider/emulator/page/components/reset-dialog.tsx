import { useSignal } from "@preact/signals";
import { resetEmulator } from "../actions.js";
import { t } from "../i18n/translate.js";
import { FormDialog } from "./dialog.js";
import { Check } from "./field.js";

/** Asks before everything is thrown away. */
export function ResetDialog(opened: { open: boolean; onClose: () => void }) {
  const workspaces = useSignal(false);
  return (
    <FormDialog
      {...opened}
      title={t("reset.title")}
      action={() => resetEmulator(workspaces.value)}
      submit={t("reset.confirm")}
      danger
    >
      <p>{t("reset.explain")}</p>
      <Check checked={workspaces.value} onChange={(checked) => (workspaces.value = checked)}>
        {t("reset.workspaces")}
      </Check>
    </FormDialog>
  );
}
