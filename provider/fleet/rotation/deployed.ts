import { ApiChatError } from "../../errors/index.js";
import type { FleetIndex } from "../engine/task.js";
import { findRemovals } from "../removals.js";
import type { ResolvedFleet } from "../resolve.js";

/** How many names an error lists. */
const NAMED = 5;

/**
 * Throws `invalid_config` if the list has workspaces without a webhook, or lacks some that have one. A rotation runs the
 * program, so it would register the first without a look at the plan, and delete the others.
 */
export async function requireDeployed(
  fleet: ResolvedFleet,
  { existing, index }: { existing: ReadonlySet<string>; index: FleetIndex },
): Promise<void> {
  const deployed = new Set(
    Object.keys(index.botUrls).filter((workspace) => existing.has(index.stackOf[workspace] ?? "")),
  );
  const missing = fleet.workspaces.map(({ name }) => name).filter((name) => !deployed.has(name));
  const removed = await findRemovals(fleet, index);
  const problems = [
    ...(missing.length > 0 ? [`${listNames(missing)} in the list, but not deployed yet`] : []),
    ...(removed.length > 0 ? [`${listNames(removed)} not in the list any more, but deployed`] : []),
  ];
  if (problems.length === 0) return;
  throw new ApiChatError(
    "invalid_config",
    `workspaces: ${problems.join("; ")}. A rotation changes keys and nothing else, and nothing was changed. ` +
      "Run up first; a workspace whose up fails can be taken out of the list until it passes",
    { operation: "check" },
  );
}

function listNames(names: readonly string[]): string {
  const more = names.length - NAMED;
  const shown = names.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `${shown} ${names.length === 1 ? "is" : "are"}`;
}
