import { useSignal } from "@preact/signals";
import { resetEmulator } from "../actions.js";
import { t } from "../i18n/translate.js";
import { Dialog } from "./dialog.js";
import { Check } from "./field.js";
import { Form } from "./form.js";

/** Asks before everything is thrown away. */
export function ResetDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const workspaces = useSignal(false);
  return (
    <Dialog title={t("reset.title")} open={open} onClose={onClose}>
      <Form class="stack" action={() => resetEmulator(workspaces.value)} onDone={onClose}>
        <p>{t("reset.explain")}</p>
        <Check checked={workspaces.value} onChange={(checked) => (workspaces.value = checked)}>
          {t("reset.workspaces")}
        </Check>
        <div class="row end">
          <button type="button" onClick={onClose}>
            {t("app.cancel")}
          </button>
          <button class="danger">{t("reset.confirm")}</button>
        </div>
      </Form>
    </Dialog>
  );
}
