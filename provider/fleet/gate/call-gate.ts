import { CALL_GATE_VARIABLE } from "../../client/origin-gate.js";
import type { SharedGate } from "../../client/origin-gate.js";
import { GateCaller } from "./gate-caller.js";
import { openGateSocket } from "./gate-socket.js";
import { RunGate, type RunGateOptions } from "./run-gate.js";

export interface CallGateOptions extends RunGateOptions {
  /** Told of a connection that was ended because it sent something else than requests for places. */
  log?: (line: string) => void;
}

/** Bounds and counts the calls of one run, over all its processes. */
export interface CallGate {
  /** For the processes whose calls are to be bounded. */
  readonly environment: Record<string, string>;
  /** For the clients of this process: `new RegistrationClient({ …, gate: callGate.gate })`. */
  readonly gate: SharedGate;
  /** How many calls were let through, by operation. */
  calls(): Record<string, number>;
  /** How many of them were answered with HTTP 429. */
  answers429(): number;
  /** Ends it. Processes that still run go on, each with its own bound. */
  close(): Promise<void>;
}

/** Starts the gate of a run. Whoever starts it closes it; until then it keeps the process alive. */
export async function startCallGate({ log, ...options }: CallGateOptions): Promise<CallGate> {
  const gate = new RunGate(options);
  const onNonsense = (): void => log?.("the call gate ended a connection that did not ask for places");
  const socket = await openGateSocket((caller) => void new GateCaller(caller, gate, onNonsense));
  let closed: Promise<void> | undefined;
  return {
    environment: { [CALL_GATE_VARIABLE]: socket.path },
    gate,
    calls: () => gate.calls(),
    answers429: () => gate.answers429(),
    close: () => (closed ??= socket.close()),
  };
}
