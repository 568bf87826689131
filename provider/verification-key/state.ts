import { ApiChatError } from "../errors/index.js";
import { bytesOf, keepOf, type VerificationKeyInputs, type VerificationKeyState } from "./inputs.js";

/** The outputs after a create or an update. What the program no longer says of `rotation` and `initial` stays on record. */
export function toState(
  inputs: VerificationKeyInputs,
  keys: Pick<VerificationKeyState, "current" | "keys">,
  before?: VerificationKeyState,
): VerificationKeyState {
  return { ...before, ...inputs, keep: keepOf(inputs), bytes: bytesOf(inputs), ...keys, stateVersion: 1 };
}

/** Gives a stored state. Throws `invalid_config` for what is none of ours: a read by id gives the inputs alone. */
export function requireState(stored: Partial<VerificationKeyState>): VerificationKeyState {
  if (stored.stateVersion !== undefined) return stored as VerificationKeyState;
  throw new ApiChatError(
    "invalid_config",
    "a verification key cannot be read by its id alone: it stands in the state of its stack only; give a live key to a new VerificationKey as initial",
    { operation: "check" },
  );
}
