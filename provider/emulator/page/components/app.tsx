import { t } from "../i18n/translate.js";
import { dialogOpen } from "../notices.js";
import { view } from "../store.js";
import { Chat } from "./chat.js";
import { Header } from "./header.js";
import { Notices } from "./notices.js";
import { Wire } from "./wire.js";
import { WorkspacePanel } from "./workspaces.js";

/** The page: workspaces, chat and wire side by side, or one of them on a narrow screen. */
export function App() {
  return (
    <div class="app" data-view={view.value}>
      <a class="skip card" href="#chat" onClick={showChat}>
        {t("app.skip")}
      </a>
      <Header />
      <ViewTabs />
      <nav class="workspaces" aria-label={t("workspaces.panel")}>
        <WorkspacePanel />
      </nav>
      <main class="chat" id="chat" tabIndex={-1} aria-label={t("chat.panel")}>
        <Chat />
      </main>
      <aside class="wire" aria-label={t("wire.panel")}>
        <Wire />
      </aside>
      {!dialogOpen.value && <Notices />}
    </div>
  );
}

/** The fragment of the address holds the choice, so the link itself must not be followed. */
function showChat(event: Event): void {
  event.preventDefault();
  view.value = "chat";
  document.querySelector<HTMLElement>("#chat")?.focus();
}

/** Chooses what a narrow screen shows. */
function ViewTabs() {
  const tabs = [
    ["workspaces", t("workspaces.heading")],
    ["chat", t("chat.panel")],
    ["wire", t("wire.panel")],
  ] as const;
  return (
    <nav class="tabs" aria-label={t("app.views")}>
      {tabs.map(([name, text]) => (
        <button
          key={name}
          type="button"
          class="ghost"
          aria-pressed={view.value === name}
          onClick={() => (view.value = name)}
          data-testid={`view-${name}`}
        >
          {text}
        </button>
      ))}
    </nav>
  );
}
