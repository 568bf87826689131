import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { printLine, printWarning } from "../lib/progress.js";
import { expected, validatedBy } from "../lib/validate.js";
import {
  type CheckResult,
  type DiffResult,
  type RawInputs,
  missingSource,
  problemsOfKnown,
  toDiff,
  toFailures,
} from "../pulumi/check-and-diff.js";
import { UNKNOWN, isUnknown } from "../pulumi/unknown.js";
import {
  DERIVATION_RULES,
  deriveVerificationKeys,
  verificationKeyShape,
  warningOfKey,
} from "../responder/key-rules.js";
import {
  DEFAULT_BYTES,
  DEFAULT_KEEP,
  type VerificationKeyInputs,
  type VerificationKeyState,
  decideNextKeys,
  derivedOf,
  nextKeys,
  requireKeyState,
  toKeyState,
} from "./contract.js";

/** A key exists only in the state, so there is nothing to delete. */
export const verificationKeyLifecycle = {
  check: checkKey,

  diff: async (_id: string, olds: VerificationKeyState, news: VerificationKeyInputs) =>
    diffKey(requireKeyState(olds), news),

  create: async (inputs: VerificationKeyInputs) => ({
    id: randomUUID(),
    outs: toKeyState(inputs, nextKeys(undefined, inputs)),
  }),

  /** Returns no inputs, so that the engine keeps its own. */
  read: async (id: string, props: Partial<VerificationKeyState> & { name: string }) => ({
    id,
    props: requireKeyState(props),
  }),

  update: async (_id: string, olds: VerificationKeyState, news: VerificationKeyInputs) => {
    const state = requireKeyState(olds);
    return { outs: toKeyState(news, nextKeys(state, news), state) };
  },

  delete: async (_id: string, _state: VerificationKeyState): Promise<void> => {},
};

const count = (least: number, most: number, usual: number): z.ZodType => {
  const error = expected(`a whole number from ${least} to ${most}`, `the default is ${usual}`);
  return z.int({ error }).min(least, { error }).max(most, { error }).optional();
};

const notAccepted = (problem: string): z.ZodType => z.undefined({ error: problem }).optional();

const rotationError = expected("a non-empty string", 'for example "2026-12"');

const keep = count(0, 10, DEFAULT_KEEP);

const RANDOM = z.object({
  rotation: z.string({ error: rotationError }).min(1, { error: rotationError }).optional(),
  keep,
  bytes: count(16, 64, DEFAULT_BYTES),
  initial: verificationKeyShape().optional(),
  subject: notAccepted("is for derived keys; set derivedFrom too, or leave subject out"),
  rotations: notAccepted('is for derived keys; set derivedFrom too, or write rotation: "2026-12"'),
});

const DERIVED = z.object({
  derivedFrom: validatedBy(DERIVATION_RULES.derivedFrom),
  subject: validatedBy(DERIVATION_RULES.subject),
  rotations: validatedBy(DERIVATION_RULES.rotations),
  keep,
  rotation: notAccepted('is for random keys; write rotations: ["2026-12"]'),
  bytes: notAccepted("is for random keys: derived keys have 32 bytes; leave it out"),
  initial: notAccepted(
    "is for random keys; to move to derived keys, leave initial out; keep is the number of earlier keys that stay",
  ),
});

async function checkKey(
  olds: Record<string, unknown>,
  news: RawInputs,
): Promise<CheckResult<VerificationKeyInputs>> {
  const { current: _current, keys: _keys, derivedFrom, ...given } = news;
  const inputs = given as unknown as VerificationKeyInputs;
  const { name, subject = name } = inputs;
  const problems =
    derivedFrom === undefined
      ? problemsOfKnown(RANDOM, given)
      : problemsOfKnown(DERIVED, { ...given, derivedFrom, subject });
  const failures = toFailures(problems, ["initial", "derivedFrom"]);
  if (failures.length > 0) return { inputs, failures };
  if (derivedFrom !== undefined) return { inputs: await derive(inputs, derivedFrom as string), failures };
  const { initial } = inputs;
  if (initial === undefined || initial === UNKNOWN) return { inputs, failures };
  const warning = warningOfKey(initial);
  if (warning !== undefined) printWarning(name, `initial ${warning}`);
  // A preview knows inputs, so add the adopted key to them: then the preview shows no change of the webhook.
  const known = olds["name"] === undefined ? { current: initial, keys: [initial] } : {};
  return { inputs: { ...inputs, ...known }, failures };
}

/** Replaces the seed with the keys; the seed itself is never stored in the state. */
async function derive(
  inputs: VerificationKeyInputs,
  seed: string | string[],
): Promise<VerificationKeyInputs> {
  const { name, subject = name, rotations = [] } = inputs;
  const isKnown = ![seed, subject, rotations].some(isUnknown);
  const keys = isKnown ? await deriveVerificationKeys(seed, { subject, rotations }) : [UNKNOWN];
  return { ...inputs, subject, current: keys[0] ?? UNKNOWN, keys };
}

/** The service signs with the old key until set-webhook passes it the new one. */
const REJECTED_MEANWHILE = "deliveries are rejected until set-webhook has run";
const KEEPS_NONE = `keep is 0, so ${REJECTED_MEANWHILE}; leave keep out while a key is rotated`;
const DERIVES_IT_NO_MORE =
  `the replaced key is no longer derived, so ${REJECTED_MEANWHILE}; until then, ` +
  "keep the subject, and list the earlier seed and rotation after the new ones";

/**
 * Whether the list of keys changes. Other input changes are ignored: an update makes every output unknown in the
 * preview, so everything that uses a key would show a change that never happens. Never replaces the resource.
 * Changes are printed, because a preview shows a changed secret as [secret] on both sides, or not at all.
 */
function diffKey(state: VerificationKeyState, inputs: VerificationKeyInputs): DiffResult {
  const { from, current = UNKNOWN, others } = decideNextKeys(state, inputs);
  const keys = [current, ...others];
  const isAdded = (derivedOf(inputs) ?? []).some((key) => !state.keys.includes(key));
  const dropped = state.keys.filter((key) => !keys.includes(key)).length;
  const lines = [
    ...(from === "state" ? [] : [`${NEW_KEYS[from](inputs)} becomes the current one`]),
    ...(from === "state" && isAdded ? ["the list of derived keys changes"] : []),
    ...(dropped > 0 ? [`earlier keys dropped: ${dropped}; deliveries signed with them are rejected`] : []),
  ];
  if (!Object.values(inputs).flat().includes(UNKNOWN)) {
    for (const line of lines) printLine(inputs.name, line);
    const isLost = from !== "state" && !others.includes(state.current);
    const wasDerived = state.derived !== undefined && derivedOf(inputs) !== undefined;
    if (isLost) printWarning(inputs.name, wasDerived ? DERIVES_IT_NO_MORE : KEEPS_NONE);
  }
  const next = toKeyState(inputs, { current, keys }, state);
  const changed = SHOWN.filter((name) => lines.length > 0 && !isDeepStrictEqual(next[name], state[name]));
  return toDiff([...changed, ...missingSource(state, inputs)]);
}

const SHOWN = ["rotation", "keep", "bytes", "initial", "subject", "rotations", "current", "keys"] as const;

const NEW_KEYS = {
  random: () => "a new key",
  initial: () => "the key in initial",
  derived: ({ rotations = [] }: VerificationKeyInputs) => `the key derived for rotation ${rotations[0]}`,
};
