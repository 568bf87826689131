import { EXIT, print, printJson } from "../../cli/output.js";
import { formatTable } from "../../cli/table.js";
import type { Session } from "./run-on-fleet.js";

/** Prints where each workspace is placed. Gives the exit code. */
export async function printStacks({ fleet }: Session, { json }: { json?: boolean }): Promise<number> {
  const stacks = fleet.stacks.map(({ name, workspaces }) => ({
    stack: name,
    workspaces: workspaces.map((workspace) => workspace.name),
  }));
  if (json) printJson(stacks);
  else print(formatTable(["STACK", "WORKSPACE"], stacks.flatMap(rowsOf)));
  return EXIT.done;
}

/** A stack without workspaces has a row too. */
const rowsOf = ({ stack, workspaces }: { stack: string; workspaces: string[] }): string[][] =>
  workspaces.length === 0 ? [[stack, "(none)"]] : workspaces.map((workspace) => [stack, workspace]);
