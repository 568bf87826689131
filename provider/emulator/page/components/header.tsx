import { useSignal } from "@preact/signals";
import { reveal } from "../actions.js";
import { send } from "../api.js";
import { chooseLanguage, language, LANGUAGES, t } from "../i18n/translate.js";
import { showDone } from "../notices.js";
import { connection, data, revealed } from "../store.js";
import { Icon } from "./buttons.js";
import { FormDialog } from "./dialog.js";
import { FaultPanel, isActive } from "./faults.js";
import { BoundCheck, Check, Select } from "./field.js";

/** Title, state of the connection, and what concerns the whole emulator. */
export function Header() {
  const open = useSignal<"faults" | "reset" | null>(null);
  const close = () => (open.value = null);
  return (
    <header class="head hstack justify-between">
      <div class="hstack">
        <h1>
          <Icon name="bolt" /> {t("app.title")}
        </h1>
        <Connection />
      </div>
      <div class="hstack gap-2">
        <Check checked={revealed.value} onChange={reveal} testId="reveal">
          {t("app.reveal")}
        </Check>
        <Select
          label={t("app.language")}
          value={language.value}
          options={LANGUAGES.map((tag) => [tag, nameOf(tag)])}
          onChange={chooseLanguage}
          hideLabel
          testId="language"
        />
        <button
          type="button"
          class="outline"
          onClick={() => (open.value = "faults")}
          data-testid="open-faults"
        >
          <Icon name="crack" /> {t("faults.title")}
          <ActiveFaults />
        </button>
        <button type="button" class="outline" onClick={() => (open.value = "reset")} data-testid="open-reset">
          {t("reset.button")}
        </button>
      </div>
      <FaultPanel open={open.value === "faults"} onClose={close} />
      <ResetDialog open={open.value === "reset"} onClose={close} />
    </header>
  );
}

const CONNECTION_VARIANTS = { connecting: "warning", live: "success", lost: "danger" };

function Connection() {
  const state = connection.value;
  return (
    <p
      class="badge"
      data-variant={CONNECTION_VARIANTS[state]}
      data-state={state}
      role="status"
      data-testid="connection"
    >
      {t(`connection.${state}`)}
    </p>
  );
}

/** A language in its own words. */
const nameOf = (tag: string): string => new Intl.DisplayNames(tag, { type: "language" }).of(tag) ?? tag;

function ActiveFaults() {
  const count = data.value.faults.filter(isActive).length;
  if (count === 0) return null;
  return (
    <span class="badge" data-variant="danger">
      {t("faults.active", { count })}
    </span>
  );
}

/** Asks before everything is deleted. */
function ResetDialog(opened: { open: boolean; onClose: () => void }) {
  const workspaces = useSignal(false);
  async function reset(): Promise<void> {
    await send("POST", ["reset"], { workspaces: workspaces.value });
    showDone(t("reset.done"));
  }
  return (
    <FormDialog {...opened} title={t("reset.title")} action={reset} submit={t("reset.confirm")} danger>
      <p>{t("reset.explain")}</p>
      <BoundCheck signal={workspaces}>{t("reset.workspaces")}</BoundCheck>
    </FormDialog>
  );
}
