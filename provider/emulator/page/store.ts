import { computed, signal } from "@preact/signals";
import { emptyData, type Party } from "./data.js";

export const data = signal(emptyData());

export const connection = signal<"connecting" | "live" | "lost">("connecting");

export const revealed = signal(false);

/** A conversation that was started on this page and has no message yet. */
export const begun = signal<Party | null>(null);

export const workspace = computed(() => {
  const { scope, workspaces } = data.value;
  return workspaces.get(scope.workspace ?? "") ?? null;
});

/** The contact and conversation of the chat: those chosen, or else those of the conversation just started. */
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
