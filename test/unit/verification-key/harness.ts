import * as dynamic from "../../../provider/dynamic.js";
import { unmarked } from "../../support/dynamic.js";
import type {
  VerificationKeyInputs,
  VerificationKeyState,
} from "../../../provider/verification-key/contract.js";

export { catchLines } from "../../support/lines.js";

export const VerificationKey = unmarked(dynamic.VerificationKey);

export type Args = Record<string, unknown>;

/** A test key, with characters that generated keys never contain. */
export const LIVE_KEY = 'vk/live+test=&<secret>"ü"-0123456789';
export const OTHER_KEY = 'vk/other+test=&<secret>"ü"-0123456789';

/** Returns the inputs that check returns. Throws if check rejects them. */
export async function checked(args: Args, olds: Args = {}): Promise<VerificationKeyInputs> {
  const { inputs, failures } = await VerificationKey.check(olds, { name: "acme", ...args });
  if (failures.length > 0) throw new Error(JSON.stringify(failures));
  return inputs;
}

/** Returns the state after the first `up` of a program with these arguments. */
export async function create(args: Args = {}): Promise<VerificationKeyState> {
  return (await VerificationKey.create(await checked(args))).outs;
}

export async function hasChanges(state: VerificationKeyState, args: Args): Promise<boolean> {
  return (await VerificationKey.diff("id", state, await checked(args, { name: "acme" }))).changes;
}

/** Returns the state after an `up`: the engine calls update only if diff finds changes. */
export async function up(state: VerificationKeyState, args: Args): Promise<VerificationKeyState> {
  if (!(await hasChanges(state, args))) return state;
  return (await VerificationKey.update("id", state, await checked(args, { name: "acme" }))).outs;
}
