import { useSignal } from "@preact/signals";
import { registerOutside, removeOutside } from "../actions.js";
import { t } from "../i18n/translate.js";
import { attempt } from "../notices.js";
import { bound, Field } from "./field.js";
import { Form } from "./form.js";

/** Lets somebody else register or remove, to see how a program copes with it. */
export function OutsideChange({ workspace, registered }: { workspace: string; registered: boolean }) {
  const url = useSignal("https://somebody-else.example/webhook");
  const key = useSignal("somebody-elses-key");
  return (
    <details class="fold">
      <summary>{t("registration.outside")}</summary>
      <p class="hint">{t("registration.outsideExplain")}</p>
      <Form class="stack" action={() => registerOutside(workspace, url.value, key.value)}>
        <Field label={t("registration.outsideUrl")} {...bound(url)} type="url" required />
        <Field label={t("registration.outsideKey")} {...bound(key)} required />
        <div class="row">
          <button class="small">{t("registration.outsideSet")}</button>
          <button
            type="button"
            class="small"
            disabled={!registered}
            onClick={() => void attempt(() => removeOutside(workspace))}
          >
            {t("registration.outsideRemove")}
          </button>
        </div>
      </Form>
    </details>
  );
}
