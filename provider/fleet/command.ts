import { basename } from "node:path";
import { reportAsOthers, reportError } from "../cli/report-error.js";
import { fleetProgram } from "./command/program.js";
import { endProcess } from "./command/run-on-fleet.js";
import type { FleetDefinition } from "./definition.js";
import { openFleet } from "./on-demand.js";

/**
 * Runs the command line of a fleet, and ends the process with the exit code of the command: `plan`, `up`, `refresh`, `rotate`,
 * `watch`, `bot-urls`, `stacks` and `destroy`. `--help` tells of each.
 *
 * @example
 * ```ts
 * // fleet.ts: node fleet.ts plan
 * await runFleetCommand({
 *   name: "production",
 *   stacks: 20,
 *   workspaces: "workspaces.yaml",
 *   program: new URL("./program.ts", import.meta.url),
 * });
 * ```
 */
export async function runFleetCommand(definition: FleetDefinition): Promise<void> {
  const program = fleetProgram({
    name: `node ${basename(process.argv[1] ?? "fleet.ts")}`,
    open: () => openFleet(definition),
  });
  reportAsOthers(program);
  try {
    await program.parseAsync();
  } catch (error) {
    await endProcess(reportError(error));
  }
}
