import { computed, effect } from "@preact/signals";
import { render } from "preact";
import { adoptBegun, choose } from "./actions.js";
import { readAddress, addressOf } from "./address.js";
import { App, searchOnSlash } from "./components/app.js";
import { connect } from "./live.js";
import { data, linked, turnTo } from "./store.js";

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
