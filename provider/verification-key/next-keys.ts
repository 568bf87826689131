import { randomBytes } from "node:crypto";
import {
  bytesOf,
  derivedOf,
  keepOf,
  type VerificationKeyInputs,
  type VerificationKeyState,
} from "./contract.js";

/** The keys of a resource: the current one is also the first of the list. */
type Keys = Pick<VerificationKeyState, "current" | "keys">;

/** The plan of a create or an update: the source of the current key, and which others stay. */
interface NextKeys {
  from: "state" | "initial" | "derived" | "random";
  /** Absent if it has yet to be generated. */
  current?: string | undefined;
  others: string[];
}

/**
 * Decides what an update does. Inputs are compared with the values set last, so removing an input and restoring it
 * later has no effect. A changed `initial` becomes the new key, even if `rotation` or `bytes` changes too.
 */
export function decideNextKeys(state: VerificationKeyState, inputs: VerificationKeyInputs): NextKeys {
  const derived = derivedOf(inputs);
  if (derived !== undefined) return followDerived(state, derived, keepOf(inputs));
  const { rotation, initial } = inputs;
  const kept = state.keys.slice(0, keepOf(inputs));
  if (initial !== undefined && initial !== state.initial && !state.keys.includes(initial)) {
    return { from: "initial", current: initial, others: kept };
  }
  const isRotated = rotation !== undefined && rotation !== state.rotation;
  if (isRotated || bytesOf(inputs) !== state.bytes || state.derived !== undefined) {
    return { from: "random", others: kept };
  }
  return { from: "state", current: state.current, others: state.keys.slice(1, 1 + keepOf(inputs)) };
}

/**
 * Derived keys come from the inputs alone. Of the earlier keys, only random ones stay after them, up to `keep`: the
 * service signs with one of those until set-webhook has given it the first derived key.
 */
function followDerived(state: VerificationKeyState, derived: string[], keep: number): NextKeys {
  const [current, ...others] = derived;
  const random = state.keys.slice(state.derived ?? 0).filter((key) => !derived.includes(key));
  return {
    from: current === state.current ? "state" : "derived",
    current,
    others: [...others, ...random.slice(0, keep)],
  };
}

/** The keys of a create: derived ones, `initial`, or a new one. */
export function firstKeys(inputs: VerificationKeyInputs): Keys {
  const given = inputs.initial === undefined ? [] : [inputs.initial];
  const [current = makeKey(inputs), ...others] = derivedOf(inputs) ?? given;
  return { current, keys: [current, ...others] };
}

/** The keys after an update. */
export function nextKeys(state: VerificationKeyState, inputs: VerificationKeyInputs): Keys {
  const { current = makeKey(inputs), others } = decideNextKeys(state, inputs);
  return { current, keys: [current, ...others] };
}

/** A new random key: base64url without padding. */
const makeKey = (inputs: VerificationKeyInputs): string => randomBytes(bytesOf(inputs)).toString("base64url");
