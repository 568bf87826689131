import { afterEach, beforeEach, vi } from "vitest";
import * as dynamic from "../../../provider/dynamic.js";
import { unmarked } from "../../support/dynamic.js";
import type {
  VerificationKeyInputs,
  VerificationKeyState,
} from "../../../provider/verification-key/contract.js";

export const VerificationKey = unmarked(dynamic.VerificationKey);

export type Args = Record<string, unknown>;

/** A key as the tests give it: characters that no new key holds. */
export const LIVE_KEY = 'vk/live+test=&<secret>"ü"-0123456789';
export const OTHER_KEY = 'vk/other+test=&<secret>"ü"-0123456789';

/** The lines that a test's calls printed. */
export function catchLines(): string[] {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  });
  afterEach(() => vi.restoreAllMocks());
  return lines;
}

/** The inputs as check leaves them; throws if it finds them wrong. */
export async function checked(args: Args, olds: Args = {}): Promise<VerificationKeyInputs> {
  const { inputs, failures } = await VerificationKey.check(olds, { name: "acme", ...args });
  if (failures.length > 0) throw new Error(JSON.stringify(failures));
  return inputs;
}

/** The state after the first `up` of a program with these arguments. */
export async function create(args: Args = {}): Promise<VerificationKeyState> {
  return (await VerificationKey.create(await checked(args))).outs;
}

export async function hasChanges(state: VerificationKeyState, args: Args): Promise<boolean> {
  return (await VerificationKey.diff("id", state, await checked(args, { name: "acme" }))).changes;
}

/** The state after an `up`: the engine calls update only if diff says that something changes. */
export async function up(state: VerificationKeyState, args: Args): Promise<VerificationKeyState> {
  if (!(await hasChanges(state, args))) return state;
  return (await VerificationKey.update("id", state, await checked(args, { name: "acme" }))).outs;
}
