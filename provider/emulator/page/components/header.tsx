import { reveal } from "../actions.js";
import { send } from "../api.js";
import { chooseLanguage, language, LANGUAGES, t } from "../i18n/translate.js";
import { showDone } from "../notices.js";
import { connection, revealed } from "../store.js";
import { Icon } from "./buttons.js";
import { FormDialog } from "./dialog.js";
import { FaultPanel } from "./faults.js";
import { Check, Select } from "./form.js";

const CONNECTIONS = {
  connecting: ["warning", "Connecting"],
  live: ["success", "Live"],
  lost: ["danger", "Connection lost, trying again"],
} as const;

/** Title, state of the connection, and what concerns the whole emulator. */
export function Header() {
  const [variant, state] = CONNECTIONS[connection.value];
  return (
    <header class="head hstack justify-between">
      <div class="hstack">
        <h1>
          <Icon name="bolt" /> {t("API Channel emulator")}
        </h1>
        <p class="badge" data-variant={variant} role="status" data-testid="connection">
          {t(state)}
        </p>
      </div>
      <div class="hstack gap-2">
        <Check checked={revealed.value} onChange={reveal} data-testid="reveal">
          {t("Show secrets")}
        </Check>
        <Select
          label={t("Language")}
          value={language.value}
          options={LANGUAGES}
          nameOf={nameOf}
          onChange={chooseLanguage}
          hideLabel
          data-testid="language"
        />
        <FaultPanel />
        <ResetDialog />
      </div>
    </header>
  );
}

/** A language in its own words. */
const nameOf = (tag: string): string => new Intl.DisplayNames(tag, { type: "language" }).of(tag) ?? tag;

/** Asks before everything is deleted. */
function ResetDialog() {
  return (
    <FormDialog
      title={t("Reset the emulator")}
      opener={(open) => (
        <button type="button" class="outline" onClick={open} data-testid="open-reset">
          {t("Reset")}
        </button>
      )}
      action={async ({ workspaces }) => {
        await send("POST", ["reset"], { workspaces: workspaces !== undefined });
        showDone(t("The emulator is reset."));
      }}
      submit={t("Reset now")}
      danger
    >
      <p>{t("Deletes everything except workspaces and registrations. This cannot be undone.")}</p>
      <Check name="workspaces">{t("Remove the workspaces too")}</Check>
    </FormDialog>
  );
}
