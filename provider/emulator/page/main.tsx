import { effect } from "@preact/signals";
import { render } from "preact";
import { adoptBegun } from "./actions.js";
import { Chat } from "./components/chat.js";
import { Header } from "./components/header.js";
import { Errors } from "./components/errors.js";
import { Wire } from "./components/wire.js";
import { WorkspacePanel } from "./components/workspaces.js";
import { connect } from "./live.js";

/** The page: workspaces, chat and wire side by side, or one below the other on a narrow screen. */
function App() {
  return (
    <div class="app">
      <a class="skip card" href="#chat">
        Skip to the chat
      </a>
      <a class="skip card" href="#wire">
        Skip to the wire
      </a>
      <Header />
      <nav aria-label="Workspaces and conversations">
        <WorkspacePanel />
      </nav>
      <main class="flex flex-col" id="chat" tabIndex={-1} aria-label="Chat">
        <Chat />
      </main>
      <aside class="flex flex-col" id="wire" tabIndex={-1} aria-label="On the wire">
        <Wire />
      </aside>
      <Errors />
    </div>
  );
}

const root = document.querySelector("#app");
if (root === null) throw new Error("index.html has no element #app");

render(<App />, root);
effect(adoptBegun);
connect();
