import type { StackReport, WebhookReport } from "../reports.js";
import type { ResolvedStack } from "../resolve.js";

/** Which key workspaces have, by their names. Those that accept only the old key are safe: the program keeps it. */
export interface KeysByWorkspace {
  /** Registered with the key of this rotation. */
  new: string[];
  /** Registered with the key that they had before. */
  old: string[];
  /** What was under way failed or was stopped: the one or the other. The next run with the same rotation settles it. */
  unsure: string[];
}

/** A stack whose rotation was begun. */
export interface BegunStack {
  place: ResolvedStack;
  report: StackReport;
  /** Whom the `up` gave the new key. */
  rotated: ReadonlySet<string>;
}

/** Whether the `up` of a rotation left a webhook with the new key. A program with one key for all tells it by the update alone. */
export const hasNewKey = ({ isRotated, change }: WebhookReport): boolean =>
  isRotated ?? (change === "update" || change === "create");

/** Whom an `up` with a rotation gave the new key, or found with it. */
export function findRotated({ webhooks, failures }: StackReport): Set<string> {
  const failed = new Set(failures.map(({ workspace }) => workspace));
  const rotated = webhooks.filter((webhook) => hasNewKey(webhook) && !failed.has(webhook.workspace));
  return new Set(rotated.map(({ workspace }) => workspace));
}

/** Sorts the workspaces of the fleet by the key that they have. */
export function sortByKey(stacks: {
  done: readonly ResolvedStack[];
  begun: readonly BegunStack[];
  notBegun: readonly ResolvedStack[];
}): KeysByWorkspace {
  const begun = stacks.begun.flatMap(({ place, rotated }) =>
    namesOf([place]).map((name) => ({ name, isNew: rotated.has(name) })),
  );
  const namesWith = (wanted: boolean): string[] =>
    begun.flatMap(({ name, isNew }) => (isNew === wanted ? [name] : []));
  return {
    new: [...namesOf(stacks.done), ...namesWith(true)].toSorted(),
    old: namesOf(stacks.notBegun).toSorted(),
    unsure: namesWith(false).toSorted(),
  };
}

const namesOf = (places: readonly ResolvedStack[]): string[] =>
  places.flatMap(({ workspaces }) => workspaces.map(({ name }) => name));
