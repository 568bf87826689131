import { randomBytes } from "node:crypto";
import { bytesOf, keepOf, type VerificationKeyInputs, type VerificationKeyState } from "./contract.js";

/** Where the next current key comes from: it stays, it is `initial`, or it is made. */
type NextKey = { from: "state" } | { from: "initial"; key: string } | { from: "random" };

/** The keys that a resource holds: the current one is also the first of the list. */
type Keys = Pick<VerificationKeyState, "current" | "keys">;

/**
 * Decides what an update does. Compared is what was set last, so an input that is taken out, and put back later, does
 * nothing. A changed `initial` is the new key itself, also if `rotation` or `bytes` change with it.
 */
export function decideNextKey(state: VerificationKeyState, inputs: VerificationKeyInputs): NextKey {
  const { rotation, initial } = inputs;
  if (initial !== undefined && initial !== state.initial && !state.keys.includes(initial)) {
    return { from: "initial", key: initial };
  }
  const isRotated = rotation !== undefined && rotation !== state.rotation;
  return { from: isRotated || bytesOf(inputs) !== state.bytes ? "random" : "state" };
}

/** How many of the earlier keys an update drops. */
export function countDropped(state: VerificationKeyState, inputs: VerificationKeyInputs): number {
  const earlier = state.keys.length - (decideNextKey(state, inputs).from === "state" ? 1 : 0);
  return Math.max(0, earlier - keepOf(inputs));
}

/** The keys of a create: `initial`, or a new one. */
export function firstKeys(inputs: VerificationKeyInputs): Keys {
  const current = inputs.initial ?? makeKey(inputs);
  return { current, keys: [current] };
}

/** The keys after an update. */
export function nextKeys(state: VerificationKeyState, inputs: VerificationKeyInputs): Keys {
  const next = decideNextKey(state, inputs);
  const keep = keepOf(inputs);
  if (next.from === "state") return { current: state.current, keys: state.keys.slice(0, 1 + keep) };
  const current = next.from === "initial" ? next.key : makeKey(inputs);
  return { current, keys: [current, ...state.keys.slice(0, keep)] };
}

/** A new random key: base64url without padding. */
const makeKey = (inputs: VerificationKeyInputs): string => randomBytes(bytesOf(inputs)).toString("base64url");
