import { isDeepStrictEqual } from "node:util";
import type { FleetIndex } from "./engine/task.js";
import { nextIndex } from "./index-entries.js";
import type { Journal } from "./journal.js";
import type { Failure } from "./reports.js";
import type { FleetContext } from "./run-context.js";
import type { StacksRun } from "./run-stacks.js";

/** What the index stack exports; empty if there is none yet. */
export async function readIndex({ fleet, workers }: FleetContext): Promise<FleetIndex> {
  const index = await workers.readIndex({ stack: fleet.indexStack, project: fleet.project });
  return index ?? { botUrls: {}, stackOf: {} };
}

/**
 * Writes the bot URLs that a run leaves to the index stack, unless they are what it has already. Also after a run with
 * failures or an interrupted one: it takes as long as a stack without resources.
 */
export async function updateIndex(
  { fleet, workers }: FleetContext,
  {
    before,
    run,
    journal,
  }: { before: FleetIndex; run: Pick<StacksRun, "stacks" | "skipped">; journal?: Journal },
): Promise<Failure | undefined> {
  const doneBefore = run.skipped.flatMap(({ stack, why }) =>
    why === "done-before" && journal ? [{ stack, botUrls: journal.botUrlsOf(stack) }] : [],
  );
  const after = nextIndex(before, { reports: run.stacks, doneBefore });
  if (isDeepStrictEqual(after, before)) return undefined;
  const { indexStack: stack, project, secretsProvider } = fleet;
  return failureOf(stack, () =>
    workers.writeIndex(
      { stack, project, ...(secretsProvider === undefined ? {} : { secretsProvider }) },
      after,
    ),
  );
}

/** Does something with a stack; gives why it failed. */
export async function failureOf(stack: string, work: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { stack, message: error instanceof Error ? error.message : String(error) };
  }
}
