import { parseOptions } from "../check-options.js";
import type { DefaultAction } from "../switches.js";
import { echo } from "./echo.js";
import type { Flow } from "./flow.js";
import { createMenu } from "./menu.js";
import { flowOfScenario, scenario, type Scenario } from "./scenario.js";

/**
 * All flows that a workspace can choose, by name: the built-in `echo`, `menu` and `silent`, and those of the options, which
 * may replace them. Throws `invalid_config` naming the field of a scenario that is wrong.
 */
export function createFlows(
  named: Record<string, Scenario | Flow>,
  { defaultAction }: { defaultAction: DefaultAction },
): Map<string, Flow> {
  const flows = new Map<string, Flow>([
    ["echo", echo],
    ["menu", createMenu(defaultAction)],
    ["silent", () => []],
  ]);
  for (const [name, flow] of Object.entries(named)) {
    flows.set(name, typeof flow === "function" ? flow : readScenario(name, flow));
  }
  return flows;
}

function readScenario(name: string, data: unknown): Flow {
  return flowOfScenario(parseOptions(`flows.${name}`, scenario, data));
}

/** The name of what an option chooses; a function is added to the flows as `custom-` and for whom it is. */
export function flowNameOf(
  flows: Map<string, Flow>,
  chosen: string | Flow | undefined,
  { for: owner, otherwise }: { for: string; otherwise: string },
): string {
  if (typeof chosen !== "function") return chosen ?? otherwise;
  const name = `custom-${owner}`;
  flows.set(name, chosen);
  return name;
}
