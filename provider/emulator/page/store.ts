import { computed, signal } from "@preact/signals";
import { emptyData, type Party, type Scope } from "./data.js";
import type { Exchange, ExchangeId } from "./wire.js";

/** What the emulator returned and reported. */
export const data = signal(emptyData());

/** The names of the flows that can be chosen. */
export const flows = signal<readonly string[]>([]);

/** How the user starts the command line. */
export const commandLine = signal("");

export const connection = signal<"connecting" | "live" | "lost">("connecting");

/** Whether the secrets are shown. */
export const revealed = signal(false);

/** A conversation that was begun on this page and has no message yet. */
export const begun = signal<Party | null>(null);

/** The exchange that the address names. */
export const linked = signal<ExchangeId | null>(null);

export function isLinked({ kind, record }: Exchange): boolean {
  return kind === linked.value?.kind && record.id === linked.value.id;
}

/** The newest exchange that the list shows while one is unfolded or the list is scrolled: later ones would move it. */
export const held = signal<number | null>(null);

/** The part of the page that a narrow screen shows. */
export const view = signal<"workspaces" | "chat" | "wire">("workspaces");

/** Shows a part of the page and focuses an element in it, which a narrow screen did not show before. */
export function focusIn(part: typeof view.value, selector: string): void {
  view.value = part;
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
}

export const workspace = computed(() => {
  const { scope, workspaces } = data.value;
  return workspaces.get(scope.workspace ?? "") ?? null;
});

/** Contact and conversation of the chat: the chosen ones, or those just begun. */
export const party = computed<Party | null>(() => {
  const { scope, conversations: all } = data.value;
  return all.get(scope.conversation ?? "") ?? begun.value;
});

/** The conversations of the chosen workspace, the latest first. */
export const conversations = computed(() => {
  const { scope, conversations: all } = data.value;
  return [...all.values()]
    .filter((entry) => entry.workspace === scope.workspace)
    .toSorted((a, b) => Date.parse(b.lastAt) - Date.parse(a.lastAt));
});

export const messages = computed(() =>
  [...data.value.messages.values()].toSorted((a, b) => a.order - b.order),
);

/** The newest first. */
export const exchanges = computed(() =>
  [...data.value.exchanges.values()].toSorted((a, b) => b.record.order - a.record.order),
);

/** Turns to a workspace, or to one of its conversations or exchanges, which are still to be loaded. */
export function turnTo(scope: Scope, exchange: ExchangeId | null = null): void {
  const { workspaces, conversations: all, faults, reach } = data.value;
  begun.value = null;
  held.value = null;
  linked.value = exchange;
  if (exchange !== null) view.value = "wire";
  else if (scope.conversation !== null) view.value = "chat";
  data.value = { ...emptyData(scope, reach), workspaces, conversations: all, faults };
}
