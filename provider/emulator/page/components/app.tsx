import { t } from "../i18n/translate.js";
import { dialogOpen } from "../notices.js";
import { view } from "../store.js";
import { Chat } from "./chat.js";
import { Header } from "./header.js";
import { Notices } from "./notices.js";
import { ViewTabs } from "./view-tabs.js";
import { Wire } from "./wire.js";
import { WorkspacePanel } from "./workspace-panel.js";

/** The page: workspaces, chat and wire side by side, or one of them where there is no room. */
export function App() {
  return (
    <div class="app" data-view={view.value}>
      <a class="skip" href="#chat" onClick={showChat}>
        {t("app.skip")}
      </a>
      <Header />
      <ViewTabs />
      <nav class="panel panel-workspaces" aria-label={t("workspaces.panel")}>
        <WorkspacePanel />
      </nav>
      <main class="panel panel-chat" id="chat" tabIndex={-1} aria-label={t("chat.panel")}>
        <Chat />
      </main>
      <aside class="panel panel-wire" aria-label={t("wire.panel")}>
        <Wire />
      </aside>
      {!dialogOpen.value && <Notices />}
    </div>
  );
}

/** The fragment of the address says what is chosen, so the link itself must not be followed. */
function showChat(event: Event): void {
  event.preventDefault();
  view.value = "chat";
  document.querySelector<HTMLElement>("#chat")?.focus();
}
