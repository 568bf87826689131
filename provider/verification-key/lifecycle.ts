import { randomUUID } from "node:crypto";
import * as z from "zod";
import { UNKNOWN, warningOfKey, type CheckResult, type RawInputs } from "../lib/checks.js";
import { expected, orUnknown, problemsOf, verificationKey } from "../lib/validate.js";
import { printLine, report, toFailures } from "../lib/provider-process.js";
import {
  DEFAULT_BYTES,
  DEFAULT_KEEP,
  LEAST_BYTES,
  MOST_BYTES,
  MOST_KEPT,
  keepOf,
  requireState,
  toState,
  type VerificationKeyInputs,
  type VerificationKeyState,
} from "./contract.js";
import { countDropped, decideNextKey, firstKeys, nextKeys } from "./next-keys.js";

/** The lifecycle of `VerificationKey`, in the form that the SDK's dynamic provider calls. Nothing is remote, nothing to delete. */
export const VerificationKey = {
  check: (olds: Record<string, unknown>, news: RawInputs): Promise<CheckResult<VerificationKeyInputs>> =>
    report(news.name, async () => checkKey(olds, news)),

  diff: (_id: string, olds: VerificationKeyState, news: VerificationKeyInputs): Promise<KeyDiff> =>
    report(news.name, async () => diffKey(requireState(olds), news)),

  /** Makes the first key, or takes over the live one in `initial`. */
  create: (inputs: VerificationKeyInputs): Promise<{ id: string; outs: VerificationKeyState }> =>
    report(inputs.name, async () => ({ id: randomUUID(), outs: toState(inputs, firstKeys(inputs)) })),

  /** Gives the state back as it is: keys are nowhere else. Without inputs, so the engine keeps those that it has. */
  read: (
    id: string,
    props: Partial<VerificationKeyState> & { name: string },
  ): Promise<{ id: string; props: VerificationKeyState }> =>
    report(props.name, async () => ({ id, props: requireState(props) })),

  /** Makes a new key or takes one over, if the inputs ask for it, and drops the earlier ones beyond `keep`. */
  update: (
    _id: string,
    olds: VerificationKeyState,
    news: VerificationKeyInputs,
  ): Promise<{ outs: VerificationKeyState }> =>
    report(news.name, async () => {
      const state = requireState(olds);
      return { outs: toState(news, nextKeys(state, news), state) };
    }),

  delete: async (): Promise<void> => {},
};

const count = (least: number, most: number, usual: number): z.ZodType => {
  const error = expected(`a whole number from ${least} to ${most}`, `leave it out for ${usual}`);
  return orUnknown(z.int({ error }).min(least, { error }).max(most, { error }));
};

const rotationError = expected("a non-empty string", 'write for example "2026-12"');

const SCHEMA = z.object({
  rotation: orUnknown(z.string({ error: rotationError }).min(1, { error: rotationError })),
  keep: count(0, MOST_KEPT, DEFAULT_KEEP),
  bytes: count(LEAST_BYTES, MOST_BYTES, DEFAULT_BYTES),
  initial: orUnknown(verificationKey()),
});

/** Finds everything that is wrong at once. No I/O. Values that a preview does not know pass. */
function checkKey(olds: Record<string, unknown>, news: RawInputs): CheckResult<VerificationKeyInputs> {
  const { current: _current, keys: _keys, ...given } = news;
  // An argument that resolves to undefined arrives as null.
  const known = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  const inputs = Object.fromEntries(known) as unknown as VerificationKeyInputs;
  const failures = toFailures(problemsOf(SCHEMA, inputs), ["initial"]);
  if (failures.length > 0) return { inputs, failures };
  const warning = inputs.initial === undefined ? undefined : warningOfKey(inputs.initial);
  if (warning !== undefined) printLine(inputs.name, `warning: initial ${warning}`);
  const isCreate = olds["name"] === undefined;
  return { inputs: isCreate ? foresee(inputs) : inputs, failures };
}

/**
 * What check adds to the inputs stays known in a preview, so adopting a live key shows no change of the webhook that has it.
 * The class passes both as secrets, else the engine would store in clear what check adds.
 */
function foresee(inputs: VerificationKeyInputs): VerificationKeyInputs {
  const { initial } = inputs;
  if (initial === undefined || initial === UNKNOWN) return inputs;
  return { ...inputs, current: initial, keys: [initial] };
}

interface KeyDiff {
  changes: boolean;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

/**
 * Whether the list of keys changes. Any other change of the inputs is none: an update makes every output unknown in the
 * preview, and whatever takes a key would show a change that does not come. Nothing ever replaces.
 */
function diffKey(state: VerificationKeyState, inputs: VerificationKeyInputs): KeyDiff {
  const lines = describeChange(state, inputs);
  if (!Object.values(inputs).includes(UNKNOWN)) lines.forEach((line) => printLine(inputs.name, line));
  return { changes: lines.length > 0, replaces: [], deleteBeforeReplace: false };
}

/** The service signs with the replaced key until set-webhook has handed it the new one. */
const KEEPS_NONE =
  "warning: keep is 0, so deliveries are refused until set-webhook has run; leave keep out while a key is rotated";

/** A preview shows a secret that changes as [secret] on both sides, or not at all. */
function describeChange(state: VerificationKeyState, inputs: VerificationKeyInputs): string[] {
  const { from } = decideNextKey(state, inputs);
  const dropped = countDropped(state, inputs);
  return [
    ...(from === "random" ? ["a new key becomes the current one"] : []),
    ...(from === "initial" ? ["the key in initial becomes the current one"] : []),
    ...(dropped > 0 ? [describeDropped(dropped)] : []),
    ...(from !== "state" && keepOf(inputs) === 0 ? [KEEPS_NONE] : []),
  ];
}

const describeDropped = (dropped: number): string =>
  dropped === 1
    ? "1 of the earlier keys is dropped: what is signed with it is refused"
    : `${dropped} of the earlier keys are dropped: what is signed with them is refused`;
