import { onTestFinished } from "vitest";
import {
  startCallGate,
  type CallGate,
  type CallGateOptions,
} from "../../../../provider/fleet/gate/call-gate.js";

/** A gate with one place an origin unless given otherwise, closed after the test. */
export async function startGate(options: Partial<CallGateOptions> = {}): Promise<CallGate> {
  const given = { callsPerOrigin: 1, most429: 100, onBudgetSpent: () => undefined, ...options };
  const gate = await startCallGate(given);
  onTestFinished(() => gate.close());
  return gate;
}
