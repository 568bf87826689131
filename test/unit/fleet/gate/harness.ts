import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { GateConnection } from "../../../../provider/client/shared-gate.js";
import type { CallPlace, SharedGate } from "../../../../provider/client/origin-gate.js";
import {
  startCallGate,
  type CallGate,
  type CallGateOptions,
} from "../../../../provider/fleet/gate/call-gate.js";

export const ORIGIN = "https://platform.example";
export const GET = { origin: ORIGIN, operation: "get-webhook" };
export const SET = { origin: ORIGIN, operation: "set-webhook" };

/** A gate with one place an origin unless told otherwise, closed after the test. */
export async function startGate(options: Partial<CallGateOptions> = {}): Promise<CallGate> {
  const gate = await startCallGate({
    callsPerOrigin: 1,
    most429: 100,
    onBudgetSpent: () => undefined,
    ...options,
  });
  onTestFinished(() => gate.close());
  return gate;
}

export const pathOf = ({ environment }: CallGate): string => environment["APICHAT_CALL_GATE"] ?? "";

/** As another process has it. */
export const connectTo = (gate: CallGate): GateConnection => new GateConnection(pathOf(gate));

/** A connection that says what it likes, made. */
export async function connectRaw(gate: CallGate): Promise<Socket> {
  const socket = connect(pathOf(gate));
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Resolves when what was sent before over this connection or in this process has surely been dealt with. */
export async function roundTrip(gate: SharedGate): Promise<void> {
  const place = await gate.enter({ origin: "test://round-trip", operation: "round-trip" });
  place.leave();
  // A permit is handed on within the turn in which it was released.
  await setImmediate();
}

/** Asks for a place, and tells whether it was given yet. */
export function ask(
  gate: SharedGate,
  signal?: AbortSignal,
): { place: Promise<CallPlace>; isIn: () => boolean } {
  let isIn = false;
  const place = gate.enter(GET, signal).then((given) => {
    isIn = true;
    return given;
  });
  // What a test does not await may be refused when the gate closes.
  place.catch(() => undefined);
  return { place, isIn: () => isIn };
}
