import { computed, effect } from "@preact/signals";
import { render } from "preact";
import { adoptBegun, choose } from "./actions.js";
import { readAddress, addressOf } from "./address.js";
import { Chat } from "./components/chat.js";
import { Notices } from "./components/dialog.js";
import { Header } from "./components/header.js";
import { Wire } from "./components/wire.js";
import { WorkspacePanel } from "./components/workspaces.js";
import { connect } from "./live.js";
import { dialogOpen } from "./notices.js";
import { data, focusIn, linked, turnTo, view } from "./store.js";

/** The page: workspaces, chat and wire side by side, or one of them on a narrow screen. */
function App() {
  return (
    <div class="app" data-view={view.value}>
      <SkipLink part="chat" text="Skip to the chat" />
      <SkipLink part="wire" text="Skip to the wire" />
      <Header />
      <ViewTabs />
      <nav class="workspaces" aria-label="Workspaces and conversations">
        <WorkspacePanel />
      </nav>
      <main class="chat flex flex-col" id="chat" tabIndex={-1} aria-label="Chat">
        <Chat />
      </main>
      <aside class="wire flex flex-col" id="wire" tabIndex={-1} aria-label="On the wire">
        <Wire />
      </aside>
      {!dialogOpen.value && <Notices />}
    </div>
  );
}

/** The fragment of the address holds the choice, so the link itself is not followed. */
function SkipLink({ part, text }: { part: "chat" | "wire"; text: string }) {
  function skip(event: Event): void {
    event.preventDefault();
    focusIn(part, `#${part}`);
  }
  return (
    <a class="skip card" href={`#${part}`} onClick={skip}>
      {text}
    </a>
  );
}

/** A slash goes to the search, unless something is being written or a dialog is open. */
function searchOnSlash(event: KeyboardEvent): void {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  const isTaken =
    target instanceof Element &&
    target.closest("input:not([type=checkbox]), textarea, select, dialog") !== null;
  if (key !== "/" || isTaken || ctrlKey || metaKey || altKey) return;
  event.preventDefault();
  focusIn("wire", ".wire input");
}

const TABS = [
  ["workspaces", "Workspaces"],
  ["chat", "Chat"],
  ["wire", "On the wire"],
] as const;

/** Chooses what a narrow screen shows. */
function ViewTabs() {
  return (
    <nav class="tabs" aria-label="Views">
      {TABS.map(([name, text]) => (
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

const root = document.querySelector("#app");
if (root === null) throw new Error("index.html has no element #app");

/** Computed, so that not every event changes the history: browsers allow few changes a minute. */
const address = computed(() => addressOf(data.value.scope, linked.value));

turnTo(...readAddress(location.hash));
render(<App />, root);
effect(adoptBegun);
effect(() => history.replaceState(null, "", address.value));
addEventListener("keydown", searchOnSlash);
// A load that ends before this event has replaced the address already: only the event still has the new one.
addEventListener("hashchange", ({ newURL }) => choose(...readAddress(new URL(newURL).hash)));
connect();
