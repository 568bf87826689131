import "../../lib/require-node.js";
import { basename } from "node:path";
import type { FleetDefinition } from "../../fleet/definition.js";
import type { Fleet, OpenFleetOptions } from "../../fleet/fleet.js";
import type { ListedWorkspace } from "../../workspace-list/index.js";
import { endProcess } from "../output.js";
import { useOwnFormat, reportError } from "../report-error.js";
import { fleetProgram } from "./program.js";

// The entry `pulumi-apichat/fleet`. Everything that `node fleet.ts --help` does not need is loaded on first use.

export type { FleetDefinition, KeyArguments, WebhookArguments } from "../../fleet/definition.js";
export type { Fleet, OpenFleetOptions } from "../../fleet/fleet.js";
export type { FleetEvent, PlanOptions, RotateOptions, RunOptions, UpOptions } from "../../fleet/options.js";
export type { PlacedStack } from "../../fleet/placement.js";
export type { CreateCounts, FleetPlan, UnknownReason } from "../../fleet/plan.js";
export type {
  Drift,
  DriftedProperty,
  FleetAction,
  FleetFailure,
  FleetReport,
  OtherChange,
  Outcome,
  StackReport,
  WebhookChange,
  WebhookReport,
} from "../../fleet/reports.js";
export type { KeysByWorkspace, RotationReport, RotationWave } from "../../fleet/rotate.js";
export type { DriftedResource, DriftedWorkspace, DriftKind, DriftReport } from "../../fleet/watch.js";
export { formatEnvironmentLines } from "./bot-url-lines.js";
export type { ListedWorkspace } from "../../workspace-list/index.js";
export { ApiChatError, type ApiChatErrorCode } from "../../errors/index.js";
export { renderReport, type AnyReport, type Format, type RenderOptions } from "./render.js";

/**
 * Reads the list of workspaces and splits it over the stacks. Throws `invalid_config` with everything that is wrong with the
 * definition or the list.
 */
export async function openFleet(definition: FleetDefinition, options?: OpenFleetOptions): Promise<Fleet> {
  const fleet = await import("../../fleet/fleet.js");
  return fleet.openFleet(definition, options);
}

/**
 * Reads the workspaces of a fleet from a file: CSV if its name ends in ".csv", else YAML or JSON. Throws `invalid_config` with
 * everything that is wrong with it, each with file, line and field, and none of its values.
 */
export async function readWorkspaceList(path: string): Promise<ListedWorkspace[]> {
  const list = await import("../../workspace-list/index.js");
  return list.readWorkspaceList(path);
}

/**
 * Runs the command line of a fleet, and ends the process with the exit code of the command: `plan`, `up`, `refresh`, `rotate`,
 * `watch`, `bot-urls`, `stacks`, `write` and `destroy`. `--help` describes each.
 *
 * @example
 * ```ts
 * // fleet.ts: node fleet.ts plan
 * await runFleetCommand({
 *   name: "production",
 *   workspaces: "workspaces.yaml",
 *   rotations: ["2026-12"],
 *   webhook: ({ name, baseUrl }, { rotations }) => ({
 *     baseUrl,
 *     webhookUrl: `https://chat.example/webhooks/${name}`,
 *     webhookVerificationKey: { derivedFrom: process.env.KEY_SEED, rotations },
 *   }),
 * });
 * ```
 */
export async function runFleetCommand(definition: FleetDefinition): Promise<void> {
  const name = `node ${basename(process.argv[1] ?? "fleet.ts")}`;
  const program = fleetProgram({ name, open: () => openFleet(definition) });
  useOwnFormat(program);
  try {
    await program.parseAsync();
  } catch (error) {
    await endProcess(reportError(error));
  }
}
