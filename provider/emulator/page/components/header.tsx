import { useSignal } from "@preact/signals";
import { reveal } from "../actions.js";
import { LANGUAGES } from "../i18n/language.js";
import { chooseLanguage, language, t } from "../i18n/translate.js";
import { connection, data, revealed } from "../store.js";
import { FaultPanel, isActive } from "./fault-panel.js";
import { Check } from "./field.js";
import { Icon } from "./icon.js";
import { ResetDialog } from "./reset-dialog.js";

const LANGUAGE_NAMES = { en: "English", "pt-BR": "Português" };

/** Title, state of the connection, and what concerns the whole emulator. */
export function Header() {
  const open = useSignal<"faults" | "reset" | null>(null);
  const close = () => (open.value = null);
  return (
    <header class="header">
      <h1>
        <Icon name="bolt" /> {t("app.title")}
      </h1>
      <Connection />
      <div class="header-tools">
        <Check checked={revealed.value} onChange={reveal} testId="reveal">
          {t("app.reveal")}
        </Check>
        <LanguageSelect />
        <button type="button" onClick={() => (open.value = "faults")} data-testid="open-faults">
          <Icon name="crack" /> {t("faults.button")}
          <ActiveFaults />
        </button>
        <button type="button" onClick={() => (open.value = "reset")} data-testid="open-reset">
          {t("reset.button")}
        </button>
      </div>
      <FaultPanel open={open.value === "faults"} onClose={close} />
      <ResetDialog open={open.value === "reset"} onClose={close} />
    </header>
  );
}

function Connection() {
  return (
    <p class="connection" data-state={connection.value} role="status" data-testid="connection">
      <span class="dot" aria-hidden="true" />
      {t(`connection.${connection.value}`)}
    </p>
  );
}

function ActiveFaults() {
  const count = data.value.faults.filter(isActive).length;
  return count === 0 ? null : <span class="badge bad">{t("faults.active", { count })}</span>;
}

function LanguageSelect() {
  return (
    <label class="language">
      <span class="hidden">{t("app.language")}</span>
      <select
        value={language.value}
        onChange={(event) => {
          const chosen = LANGUAGES.find((tag) => tag === event.currentTarget.value);
          if (chosen !== undefined) chooseLanguage(chosen);
        }}
        data-testid="language"
      >
        {LANGUAGES.map((tag) => (
          <option key={tag} value={tag} lang={tag}>
            {LANGUAGE_NAMES[tag]}
          </option>
        ))}
      </select>
    </label>
  );
}
