import type { ListedWorkspace } from "../workspace-list/entry-shape.js";
import type { FleetDefinition } from "./definition.js";
import type { Fleet, OpenFleetOptions } from "./fleet.js";

/** What `node fleet.ts --help` does not need is loaded when it is called: the clients, and the readers of lists. */

/**
 * Reads the list of workspaces and splits it over the stacks. Whoever opens a fleet closes it. Throws `invalid_config` with
 * everything that is wrong with the definition or the list.
 */
export async function openFleet(definition: FleetDefinition, options?: OpenFleetOptions): Promise<Fleet> {
  const fleet = await import("./fleet.js");
  return fleet.openFleet(definition, options);
}

/**
 * Reads the workspaces of a fleet from a file: CSV if its name ends in ".csv", else YAML or JSON. Throws `invalid_config` with
 * everything that is wrong with it, each with file, line and field, and none of its values.
 */
export async function readWorkspaceList(path: string): Promise<ListedWorkspace[]> {
  const list = await import("../workspace-list/read.js");
  return list.readWorkspaceList(path);
}
