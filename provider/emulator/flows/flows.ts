import type { Flow } from "./flow.js";
import type { Scenario } from "./scenario.js";

/** All flows that a workspace can choose, by name: the built-in ones, and those of the options. */
export function createFlows(named: Record<string, string | Scenario | Flow>): Map<string, Flow> {
  const flows = new Map<string, Flow>([["echo", () => []]]);
  for (const [name, flow] of Object.entries(named)) if (typeof flow === "function") flows.set(name, flow);
  return flows;
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
