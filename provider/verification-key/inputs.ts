import { UNKNOWN } from "../resource/unknown.js";

export const DEFAULT_KEEP = 2;
export const MOST_KEPT = 10;

export const DEFAULT_BYTES = 32;
export const LEAST_BYTES = 16;
export const MOST_BYTES = 64;

/** The inputs as check leaves them. Each may be the unknown value in a preview. */
export interface VerificationKeyInputs {
  /** The resource's name, for messages. */
  name: string;
  rotation?: string;
  keep?: number;
  bytes?: number;
  initial?: string;
  /** Only in the inputs of a create, where check foresees it: see check.ts. */
  current?: string;
  /** The same. */
  keys?: string[];
  __provider?: string;
}

/** The outputs in the state: the keys, and the inputs that the last create or update went by. */
export interface VerificationKeyState {
  name: string;
  /** The last one that was set: taking it out of the program does not forget it. */
  rotation?: string;
  keep: number;
  bytes: number;
  /** The last one that was set, as with `rotation`. */
  initial?: string;
  current: string;
  /** The current one first, then the earlier ones, youngest first. Never empty. */
  keys: string[];
  stateVersion: 1;
  __provider?: string;
}

/** How many bytes a new key has. One that is unknown yet equals none that was used before. */
export const bytesOf = ({ bytes = DEFAULT_BYTES }: VerificationKeyInputs): number => bytes;

/** How many earlier keys stay. While that is unknown, all may go. */
export const keepOf = ({ keep = DEFAULT_KEEP }: VerificationKeyInputs): number =>
  (keep as unknown) === UNKNOWN ? 0 : keep;
