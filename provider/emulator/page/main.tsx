import { computed, effect } from "@preact/signals";
import { render } from "preact";
import { adoptAddress, adoptBegun, follow } from "./actions.js";
import { writeAddress } from "./address.js";
import { emptyData } from "./apply-events.js";
import { App } from "./components/app.js";
import { followLanguage } from "./i18n/translate.js";
import { connect } from "./live.js";
import { data, linked } from "./store.js";

const root = document.querySelector("#app");
if (root === null) throw new Error("index.html has no element #app");

/** Computed, so that not every event changes the history: browsers allow few changes a minute. */
const address = computed(() => writeAddress(data.value.scope, linked.value));

followLanguage(document);
data.value = emptyData(adoptAddress(location.hash));
render(<App />, root);
effect(adoptBegun);
effect(() => history.replaceState(null, "", address.value));
addEventListener("hashchange", () => follow(location.hash));
connect();
