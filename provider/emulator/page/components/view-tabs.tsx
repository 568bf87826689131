import { t } from "../i18n/translate.js";
import { view } from "../store.js";

/** Chooses what shows on a narrow screen. */
export function ViewTabs() {
  const names = {
    workspaces: t("workspaces.heading"),
    chat: t("chat.panel"),
    wire: t("wire.panel"),
  };
  return (
    <nav class="view-tabs" aria-label={t("app.views")}>
      {(["workspaces", "chat", "wire"] as const).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={view.value === name}
          onClick={() => (view.value = name)}
          data-testid={`view-${name}`}
        >
          {names[name]}
        </button>
      ))}
    </nav>
  );
}
