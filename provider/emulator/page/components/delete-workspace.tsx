import { useSignal } from "@preact/signals";
import { deleteWorkspace } from "../actions.js";
import { t } from "../i18n/translate.js";
import { Dialog } from "./dialog.js";
import { Form } from "./form.js";

/** Removes a workspace, after asking. */
export function DeleteWorkspace({ name }: { name: string }) {
  const open = useSignal(false);
  const close = () => (open.value = false);
  return (
    <>
      <button type="button" class="small" onClick={() => (open.value = true)}>
        {t("workspaces.delete")}
      </button>
      <Dialog title={t("workspaces.deleteTitle", { name })} open={open.value} onClose={close}>
        <Form class="stack" action={() => deleteWorkspace(name)} onDone={close}>
          <p>{t("workspaces.deleteExplain")}</p>
          <div class="row end">
            <button type="button" onClick={close}>
              {t("app.cancel")}
            </button>
            <button class="danger">{t("workspaces.delete")}</button>
          </div>
        </Form>
      </Dialog>
    </>
  );
}
