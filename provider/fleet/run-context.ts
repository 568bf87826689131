import type { Workers } from "./engine/task.js";
import { startCallGate, type CallGate } from "./gate/call-gate.js";
import type { ResolvedFleet } from "./resolve.js";
import { limitsOf, requireRunOptions, type RunOptions } from "./run-options.js";
import type { FleetAction } from "./reports.js";

/** What every run of an open fleet needs. */
export interface FleetContext {
  fleet: ResolvedFleet;
  workers: Workers;
  /** For the engine and the provider, over what this process has. */
  environment: Readonly<Record<string, string>>;
}

/** One run: its gate counts the calls of the whole run. */
export interface RunContext extends FleetContext {
  action: FleetAction;
  gate: CallGate;
  /** Fires when the budget for answers with HTTP 429 is spent. */
  budget: AbortSignal;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** Checks the options, opens the gate for one run, and closes it when the run is over. */
export async function withRun<Result>(
  context: FleetContext,
  { action, options }: { action: FleetAction; options: RunOptions },
  run: (context: RunContext) => Promise<Result>,
): Promise<Result> {
  requireRunOptions(action, options);
  const { callsPerOrigin, most429 } = limitsOf(options);
  const budget = new AbortController();
  const startedAt = Date.now();
  const gate = await startCallGate({ callsPerOrigin, most429, onBudgetSpent: () => budget.abort() });
  try {
    return await run({ ...context, action, gate, budget: budget.signal, startedAt });
  } finally {
    await gate.close();
  }
}
