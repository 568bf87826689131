import type { VerificationKeyInputs, VerificationKeyState } from "./inputs.js";
import { nextKeys } from "./next-keys.js";
import { toState } from "./state.js";

/** Makes a new key or takes one over, if the inputs ask for it, and drops the earlier ones beyond `keep`. */
export function updateKey(
  state: VerificationKeyState,
  inputs: VerificationKeyInputs,
): { outs: VerificationKeyState } {
  return { outs: toState(inputs, nextKeys(state, inputs), state) };
}
