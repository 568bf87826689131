import { ApiChatError } from "../errors/index.js";
import type { FleetIndex } from "./engine/task.js";
import { workspacesInJournal } from "./journal.js";
import { DEFAULT_MOST_REMOVALS } from "./limits.js";
import type { ResolvedFleet } from "./resolve.js";

/** How many names an error lists. */
const NAMED = 5;

/** The workspaces that have a webhook by the index, or by an unfinished run, and are not in the list any more. */
export async function findRemovals(fleet: ResolvedFleet, index: FleetIndex): Promise<string[]> {
  const listed = new Set(fleet.workspaces.map(({ name }) => name));
  const known = new Set([...Object.keys(index.botUrls), ...(await workspacesInJournal(fleet))]);
  return [...known].filter((name) => !listed.has(name)).toSorted();
}

/** Throws `invalid_config` if more workspaces left the list than may be removed: a list may have been cut short. */
export function requireFewRemovals(removals: readonly string[], most = DEFAULT_MOST_REMOVALS): void {
  if (removals.length <= most) return;
  const more = removals.length - NAMED;
  const names = removals.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
  throw new ApiChatError(
    "invalid_config",
    `workspaces: the list has ${removals.length} fewer of those that have a webhook (${names}), and at most ${most} may be ` +
      "removed at once. Nothing was changed. If the list was cut short, fix it; if they are to go, give " +
      `--most-removals ${removals.length}`,
    { operation: "check" },
  );
}
