import { randomUUID } from "node:crypto";
import type { VerificationKeyInputs, VerificationKeyState } from "./inputs.js";
import { firstKeys } from "./next-keys.js";
import { toState } from "./state.js";

/** Makes the first key, or takes over the live one in `initial`. */
export function createKey(inputs: VerificationKeyInputs): { id: string; outs: VerificationKeyState } {
  return { id: randomUUID(), outs: toState(inputs, firstKeys(inputs)) };
}
