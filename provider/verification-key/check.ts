import { fail, kindOf, type CheckFailure, type CheckResult, type RawInputs } from "../resource/checks.js";
import { checkVerificationKey, warnOfShortKey } from "../resource/key-check.js";
import { UNKNOWN } from "../resource/unknown.js";
import {
  DEFAULT_BYTES,
  DEFAULT_KEEP,
  LEAST_BYTES,
  MOST_BYTES,
  MOST_KEPT,
  type VerificationKeyInputs,
} from "./inputs.js";

/** Says everything that is wrong at once. No I/O. Values that a preview does not know pass. */
export function checkKey(olds: Record<string, unknown>, news: RawInputs): CheckResult<VerificationKeyInputs> {
  const { current: _current, keys: _keys, ...given } = withoutEmpty(news);
  const inputs = given as unknown as VerificationKeyInputs;
  const failures = [
    ...checkRotation(inputs.rotation),
    ...checkCount("keep", inputs.keep, { least: 0, most: MOST_KEPT, usual: DEFAULT_KEEP }),
    ...checkCount("bytes", inputs.bytes, { least: LEAST_BYTES, most: MOST_BYTES, usual: DEFAULT_BYTES }),
    ...(inputs.initial === undefined ? [] : checkVerificationKey("initial", inputs.initial)),
  ];
  if (failures.length > 0) return { inputs, failures };
  if (inputs.initial !== undefined) warnOfShortKey(inputs.name, "initial", inputs.initial);
  return { inputs: isCreate(olds) ? foresee(inputs) : inputs, failures };
}

/** An argument that resolves to undefined arrives as null. */
function withoutEmpty(inputs: RawInputs): RawInputs {
  return Object.fromEntries(
    Object.entries(inputs).filter(([, value]) => value !== null && value !== undefined),
  ) as RawInputs;
}

const isCreate = (olds: Record<string, unknown>): boolean => olds["name"] === undefined;

/**
 * What check adds to the inputs stays known in a preview, so adopting a live key shows no change of the webhook that has it.
 * The class passes both as secrets, else the engine would store in clear what check adds.
 */
function foresee(inputs: VerificationKeyInputs): VerificationKeyInputs {
  const { initial } = inputs;
  if (initial === undefined || initial === UNKNOWN) return inputs;
  return { ...inputs, current: initial, keys: [initial] };
}

function checkRotation(value: unknown): CheckFailure[] {
  if (value === undefined || value === UNKNOWN || (typeof value === "string" && value !== "")) return [];
  const got = value === "" ? "an empty string" : kindOf(value);
  return [fail(`rotation: must be a non-empty string, got ${got}; write for example "2026-12"`, "rotation")];
}

function checkCount(
  property: string,
  value: unknown,
  { least, most, usual }: { least: number; most: number; usual: number },
): CheckFailure[] {
  if (value === undefined || value === UNKNOWN) return [];
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return [];
  const got = typeof value === "number" ? value : kindOf(value);
  return [
    fail(
      `${property}: must be a whole number from ${least} to ${most}, got ${got}; leave it out for ${usual}`,
      property,
    ),
  ];
}
