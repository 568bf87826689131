import { ApiChatError } from "../errors/index.js";
import { UNKNOWN } from "../lib/checks.js";
import type { DynamicResource } from "../lib/dynamic-resource.js";
import { INPUTS, SECRET_PROPERTIES } from "../lib/resource-inputs.js";

export const DEFAULT_KEEP = 2;
export const DEFAULT_BYTES = 32;

/** The inputs as check leaves them. Each may be the unknown value in a preview. */
export interface VerificationKeyInputs {
  /** The resource's name, for messages. */
  name: string;
  rotation?: string;
  keep?: number;
  bytes?: number;
  initial?: string;
  /** With a seed: the owner of the keys, and the rotations for which they are derived. */
  subject?: string;
  rotations?: string[];
  /** Only for derived keys, and in the inputs of a create that has `initial`: see `addKnownKeys` in lifecycle.ts. */
  current?: string;
  /** The same. */
  keys?: string[];
  __provider?: string;
}

/**
 * The outputs in the state: the keys, and the inputs of the last create or update. `rotation` and `initial` have the last
 * value that was set; removing them from the program does not clear them.
 */
export interface VerificationKeyState extends VerificationKeyInputs {
  keep: number;
  bytes: number;
  /** How many of the first keys are derived. Absent if none are. */
  derived?: number;
  current: string;
  /** The current key first, then the earlier ones, newest first. Never empty. */
  keys: string[];
  stateVersion: 1;
}

/** `VerificationKey` as a resource of the dynamic provider. */
export const DYNAMIC_KEY: DynamicResource = {
  args: Object.keys(INPUTS.VerificationKey),
  added: ["current", "keys"],
  secretsIn: () => SECRET_PROPERTIES.VerificationKey.map((name) => [name]),
};

/** The length of a new key in bytes. A value that is still unknown differs from every previous one. */
export const bytesOf = ({ bytes = DEFAULT_BYTES }: VerificationKeyInputs): number => bytes;

/** How many earlier keys stay. While this is unknown, all may be removed. */
export const keepOf = ({ keep = DEFAULT_KEEP }: VerificationKeyInputs): number =>
  (keep as unknown) === UNKNOWN ? 0 : keep;

/**
 * The outputs after a create or an update. `rotation` and `initial` stay recorded even if the program removes them; the
 * inputs of a derivation do not.
 */
export function toState(
  inputs: VerificationKeyInputs,
  keys: Pick<VerificationKeyState, "current" | "keys">,
  before?: VerificationKeyState,
): VerificationKeyState {
  const { subject: _subject, rotations: _rotations, derived: _derived, ...recorded } = before ?? {};
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

/** The keys that check derived, the current one first; undefined if the keys are random. */
export const derivedOf = ({ rotations, keys = [] }: VerificationKeyInputs): string[] | undefined =>
  rotations === undefined ? undefined : keys;

/**
 * Returns a stored state. Throws `invalid_config` for a state that is not ours, and for a read by ID, which has only
 * the inputs.
 */
export function requireState(stored: Partial<VerificationKeyState>): VerificationKeyState {
  if (stored.stateVersion !== undefined) return stored as VerificationKeyState;
  throw new ApiChatError(
    "invalid_config",
    "a verification key cannot be read by its id alone: it exists only in the state of its stack; pass a live key as initial to a new VerificationKey",
    { operation: "check" },
  );
}
