import type { ListedWorkspace } from "../workspace-list/index.js";
import type { FleetDefinition } from "./definition.js";
import type { Fleet, OpenFleetOptions } from "./fleet.js";

// The exports for other modules. They load their dependencies on first use, because the command line's help needs
// none.

export type { FleetDefinition, KeyArguments, WebhookArguments } from "./definition.js";
export type { Fleet, OpenFleetOptions } from "./fleet.js";
export type { FleetEvent, RotateOptions, RunOptions, UpOptions } from "./options.js";
export type { PlacedStack } from "./placement.js";
export type { CreateCounts, FleetPlan } from "./plan.js";
export type {
  Drift,
  DriftedProperty,
  FleetAction,
  FleetFailure,
  FleetReport,
  Outcome,
  StackReport,
  WebhookChange,
  WebhookReport,
} from "./reports.js";
export type { RotationReport, RotationWave } from "./rotate.js";
export type { DriftedWorkspace, DriftKind, DriftReport } from "./watch.js";
export type { ListedWorkspace } from "../workspace-list/index.js";
export { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";

/**
 * Reads the list of workspaces and splits it over the stacks. Throws `invalid_config` with everything that is
 * wrong with the definition or, if the definition is valid, with the list.
 */
export async function openFleet(definition: FleetDefinition, options?: OpenFleetOptions): Promise<Fleet> {
  const fleet = await import("./fleet.js");
  return fleet.openFleet(definition, options);
}

/**
 * Reads the workspaces of a fleet from a file of YAML or JSON. Throws `invalid_config` with every problem of
 * the file, each with file, line and field, but without values.
 */
export async function readWorkspaceList(path: string): Promise<ListedWorkspace[]> {
  const list = await import("../workspace-list/index.js");
  return list.readWorkspaceList(path);
}
