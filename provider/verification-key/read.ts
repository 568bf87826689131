import type { VerificationKeyState } from "./inputs.js";

/** Gives the state back as it is: keys stand nowhere else. Without inputs, so the engine keeps those that it has. */
export function readKey(
  id: string,
  state: VerificationKeyState,
): { id: string; props: VerificationKeyState } {
  return { id, props: state };
}
