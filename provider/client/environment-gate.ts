import { GateConnection } from "./gate-connection.js";
import type { SharedGate } from "./shared-gate.js";

/** Names the socket of the gate that bounds the calls of several processes. A run over a fleet sets it. */
export const CALL_GATE_VARIABLE = "APICHAT_CALL_GATE";

let opened: { path: string; gate: SharedGate } | undefined;

/** The gate that the environment names, if it names one: one connection a process, made on the first use. */
export function environmentGate(): SharedGate | undefined {
  const path = process.env[CALL_GATE_VARIABLE];
  if (!path) return undefined;
  if (opened?.path !== path) opened = { path, gate: new GateConnection(path) };
  return opened.gate;
}
