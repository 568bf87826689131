import { ApiChatError } from "../errors/index.js";
import type { DestroyTask, FleetIndex, ProgramTask } from "./engine/task.js";
import { countInName } from "./placement.js";
import type { ResolvedFleet, ResolvedStack } from "./resolve.js";
import type { FleetContext } from "./run-context.js";

/** The stacks of the fleet's project that the backend holds. Throws `invalid_config` if there are some of another split. */
export async function listExisting({ fleet, workers }: FleetContext): Promise<ReadonlySet<string>> {
  const names = await workers.listStacks(fleet.project);
  requireSameSplit(fleet, names);
  return new Set(names);
}

/** Another split would move workspaces, and a workspace that moves loses its live webhook. */
function requireSameSplit({ name: fleet, stacks }: ResolvedFleet, names: readonly string[]): void {
  const count = stacks.length;
  const others = names.filter((name) => (countInName(fleet, name) ?? count) !== count).toSorted();
  const [first] = others;
  if (first === undefined) return;
  const more = others.length > 1 ? ` and ${others.length - 1} more` : "";
  throw new ApiChatError(
    "invalid_config",
    `stacks: ${count} is given, but the backend holds ${first}${more}; another number would move workspaces to other ` +
      "stacks, and delete their live webhooks on the way. Nothing was changed. " +
      `Give stacks: ${countInName(fleet, first)}, or first move the resources with pulumi state move and remove the old stacks`,
    { operation: "check" },
  );
}

/**
 * Throws `invalid_config` if the index knows workspaces of a stack that the backend does not hold: a run would make new keys
 * for them. The engine leaves only a copy of a state if it is killed in the write that changes `PULUMI_DIY_BACKEND_GZIP`.
 */
export function requireKnownStacks(
  { stacks, project }: ResolvedFleet,
  { existing, index }: { existing: ReadonlySet<string>; index: FleetIndex },
): void {
  const known = new Set(Object.values(index.stackOf));
  const lost = stacks.find(({ name }) => known.has(name) && !existing.has(name))?.name;
  if (lost === undefined) return;
  throw new ApiChatError(
    "invalid_config",
    `stacks: the index knows workspaces of ${lost}, and the backend holds no such stack; a new one would give them new keys, ` +
      "and their receivers would refuse what is signed with those. Nothing was changed. A run that was killed may have left a " +
      `copy of the state: on a backend with files copy .pulumi/stacks/${project}/${lost}.json.bak (or .json.gz.bak) to the ` +
      "same name without .bak. After a destroy that did not end, run destroy again. If somebody removed the stack on purpose, " +
      "make an empty one with pulumi stack init",
    { operation: "check" },
  );
}

/** The stacks to run with the program: those with workspaces, and those that exist, whose workspaces may have left the list. */
export const findDeployable = (fleet: ResolvedFleet, existing: ReadonlySet<string>): ResolvedStack[] =>
  fleet.stacks.filter(({ name, workspaces }) => workspaces.length > 0 || existing.has(name));

/** The task that runs the fleet's program for a stack. */
export function programTask(
  fleet: ResolvedFleet,
  { name, index, workspaces }: ResolvedStack,
  options: Pick<ProgramTask, "action" | "rotation" | "refresh" | "expectNoChanges">,
): ProgramTask {
  return { ...placeOf(fleet, name), index, workspaces, ...options };
}

/** The tasks that refresh or destroy every stack that exists, also those without workspaces. */
export function existingTasks(
  fleet: ResolvedFleet,
  existing: ReadonlySet<string>,
  action: DestroyTask["action"],
): DestroyTask[] {
  const stacks = fleet.stacks.filter(({ name }) => existing.has(name));
  return stacks.map(({ name }) => ({ ...placeOf(fleet, name), program: fleet.program, action }));
}

function placeOf({ project, program, secretsProvider }: ResolvedFleet, stack: string) {
  return { stack, project, program, ...(secretsProvider === undefined ? {} : { secretsProvider }) };
}
