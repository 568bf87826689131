import "../lib/require-node.js";
import { runFleet } from "../cli/fleet/program.js";
import { openFleet, type FleetDefinition } from "./index.js";

// The entry `pulumi-apichat/fleet`: the module and its command line. Only this file imports the command line.

export * from "./index.js";

/**
 * Runs a fleet's command line (`plan`, `up`, `refresh`, `rotate`, `watch`, `bot-urls`, `stacks`, `write` or
 * `destroy`), and exits the process with the command's exit code. `--help` describes each command.
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
export const runFleetCommand = (definition: FleetDefinition): Promise<void> =>
  runFleet(() => openFleet(definition));
