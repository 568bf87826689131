import type * as z from "zod";
import { invalidFields, toPlainText, type FieldProblem } from "../errors/index.js";
import { problemsOf, type Problem } from "../lib/validate.js";
import { withReport } from "./provider-process.js";
import { isUnknown, UNKNOWN } from "./unknown.js";

/** `property` is empty for keys and URLs, because the engine prints the value of a named property. */
export interface CheckFailure {
  property: string;
  reason: string;
}

export interface CheckResult<Inputs> {
  inputs: Inputs;
  failures: CheckFailure[];
}

/** The result of `diff`: whether an update is needed. Updates are always in place. */
export interface DiffResult {
  changes: boolean;
  /** The names of the inputs and outputs that an update changes, including secret ones. */
  changed: readonly string[];
  deleteBeforeReplace: boolean;
}

/** The input in which the dynamic provider's classes store its source. */
const SOURCE = "__provider";

/** A state that the plugin wrote has no source, but the engine needs one to refresh or destroy the resource. */
export const missingSource = (state: object, inputs: object): string[] =>
  SOURCE in inputs && !(SOURCE in state) ? [SOURCE] : [];

export const toDiff = (changed: readonly string[]): DiffResult => ({
  changes: changed.length > 0,
  changed: [...new Set(changed)],
  deleteBeforeReplace: true,
});

/** Unchecked inputs, as the engine passes them. */
export type RawInputs = Record<string, unknown> & { name: string };

export const fail = (reason: string, property = ""): CheckFailure => ({
  property,
  reason: toPlainText(reason),
});

/**
 * Converts problems for the engine. The engine prints the value of a named property, so a secret property is
 * not named. A nested one is not named either: for `timeouts.requestSeconds`, the engine would print `{<nil>}`.
 */
export const toFailures = (problems: readonly FieldProblem[], secret: readonly string[]): CheckFailure[] =>
  problems.map(({ field, text }) => ({
    property: secret.includes(field) || /[.[]/.test(field) ? "" : field,
    reason: withReport(invalidFields([{ field, text }])),
  }));

/** Returns all problems with a value, except at paths whose value a preview does not know. */
export const problemsOfKnown = (schema: z.ZodType, value: unknown): Problem[] =>
  problemsOf(schema, value).filter(({ path }) => isKnownAt(value, path));

/** Whether a preview knows the value at a path, including all items of a list. */
function isKnownAt(value: unknown, path: readonly PropertyKey[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return !isUnknown(value);
  return value !== UNKNOWN && isKnownAt((value as Record<PropertyKey, unknown> | undefined)?.[name], rest);
}
