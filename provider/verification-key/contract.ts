import { randomBytes } from "node:crypto";
import { UNKNOWN } from "../pulumi/unknown.js";
import type { ResourceSpec } from "../pulumi/dynamic-resource.js";
import type { Unwrap } from "../pulumi/sdk.js";
import { INPUTS, SECRET_PROPERTIES } from "../pulumi/resource-inputs.js";
import { requireStateVersion } from "../pulumi/state-version.js";
import type { VerificationKeyArgs } from "./verification-key.js";

export const DEFAULT_KEEP = 2;
export const DEFAULT_BYTES = 32;

/** The inputs after check. In a preview, each may be {@link UNKNOWN}. */
export interface VerificationKeyInputs extends Omit<Unwrap<VerificationKeyArgs>, "derivedFrom"> {
  name: string;
  /** Present only for derived keys, and in the inputs of a create with `initial`: see lifecycle.ts. */
  current?: string;
  keys?: string[];
  __provider?: string;
}

/** `rotation` and `initial` keep the last value that was set, even after the program removes them. */
export interface VerificationKeyState extends VerificationKeyInputs {
  keep: number;
  bytes: number;
  /** How many of the `keys` are derived; these come first. Absent if none are. */
  derived?: number;
  current: string;
  /** The current key first, then the earlier ones, newest first. Never empty. */
  keys: string[];
  stateVersion: 1;
}

export const KEY_SPEC: ResourceSpec = {
  args: Object.keys(INPUTS.VerificationKey),
  added: ["current", "keys"],
  secretsIn: () => SECRET_PROPERTIES.VerificationKey.map((name) => [name]),
};

/** The length of a new key in bytes. A value that is still unknown counts as changed. */
const bytesOf = ({ bytes = DEFAULT_BYTES }: VerificationKeyInputs): number => bytes;

/** How many earlier keys to keep. While the number is unknown, it counts as 0. */
const keepOf = ({ keep = DEFAULT_KEEP }: VerificationKeyInputs): number =>
  (keep as unknown) === UNKNOWN ? 0 : keep;

type Keys = Pick<VerificationKeyState, "current" | "keys">;

/** The plan for a create or an update: the source of the current key, and the other keys to keep. */
interface NextKeys {
  from: "state" | "initial" | "derived" | "random";
  /** Absent if it has yet to be generated. */
  current?: string | undefined;
  others: string[];
}

/**
 * Inputs are compared with the last values that were set, so removing an input and restoring it later has no
 * effect. A changed `initial` becomes the new key, even if `rotation` or `bytes` changes too.
 */
export function decideNextKeys(
  state: VerificationKeyState | undefined,
  inputs: VerificationKeyInputs,
): NextKeys {
  const keys = state?.keys ?? [];
  const keep = keepOf(inputs);
  const derived = derivedOf(inputs);
  if (derived !== undefined) {
    // Of the earlier keys, keep only random ones: the service may sign with one until set-webhook sends a derived key.
    const random = keys.slice(state?.derived ?? 0).filter((key) => !derived.includes(key));
    const [current, ...others] = [...derived, ...random.slice(0, keep)];
    return { from: current === state?.current ? "state" : "derived", current, others };
  }
  const { rotation, initial } = inputs;
  const others = keys.slice(0, keep);
  if (initial !== undefined && initial !== state?.initial && !keys.includes(initial)) {
    return { from: "initial", current: initial, others };
  }
  const isRotated = rotation !== undefined && rotation !== state?.rotation;
  if (!state || isRotated || bytesOf(inputs) !== state.bytes || state.derived !== undefined) {
    return { from: "random", others };
  }
  return { from: "state", current: state.current, others: keys.slice(1, 1 + keep) };
}

export function nextKeys(state: VerificationKeyState | undefined, inputs: VerificationKeyInputs): Keys {
  const random = (): string => randomBytes(bytesOf(inputs)).toString("base64url");
  const { current = random(), others } = decideNextKeys(state, inputs);
  return { current, keys: [current, ...others] };
}

/** Drops the previous derivation's inputs, but keeps the previous `rotation` and `initial`. */
export function toKeyState(
  inputs: VerificationKeyInputs,
  keys: Keys,
  previous?: VerificationKeyState,
): VerificationKeyState {
  const { subject: _subject, rotations: _rotations, derived: _derived, ...recorded } = previous ?? {};
  const derived = derivedOf(inputs);
  return {
    ...recorded,
    ...inputs,
    keep: keepOf(inputs),
    bytes: bytesOf(inputs),
    ...(derived !== undefined && { derived: derived.length }),
    ...keys,
    stateVersion: 1,
  };
}

/** Returns the derived keys, the current one first; undefined if the keys are random. */
export const derivedOf = ({ rotations, keys = [] }: VerificationKeyInputs): string[] | undefined =>
  rotations === undefined ? undefined : keys;

/** Throws `invalid_config` for a state of another version, and for a read by ID, which passes no state. */
export function requireKeyState(stored: Partial<VerificationKeyState>): VerificationKeyState {
  requireStateVersion(
    stored,
    1,
    "a verification key cannot be read by its ID alone: it exists only in the state of its stack; " +
      "pass a live key as initial to a new VerificationKey",
  );
  return stored as VerificationKeyState;
}
