import { t } from "../i18n/translate.js";
import { dialogOpen } from "../notices.js";
import { view } from "../store.js";
import { Chat } from "./chat.js";
import { Notices } from "./dialog.js";
import { Header } from "./header.js";
import { Wire } from "./wire.js";
import { WorkspacePanel } from "./workspaces.js";

/** The page: workspaces, chat and wire side by side, or one of them on a narrow screen. */
export function App() {
  return (
    <div class="app" data-view={view.value}>
      <a class="skip card" href="#chat" onClick={showChat}>
        {t("Skip to the chat")}
      </a>
      <Header />
      <ViewTabs />
      <nav class="workspaces" aria-label={t("Workspaces and conversations")}>
        <WorkspacePanel />
      </nav>
      <main class="chat flex flex-col" id="chat" tabIndex={-1} aria-label={t("Chat")}>
        <Chat />
      </main>
      <aside class="wire" aria-label={t("On the wire")}>
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
    ["workspaces", t("Workspaces")],
    ["chat", t("Chat")],
    ["wire", t("On the wire")],
  ] as const;
  return (
    <nav class="tabs" aria-label={t("Views")}>
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
