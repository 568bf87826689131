import * as z from "zod";
import { renderProblem } from "../errors/index.js";
import { problemOfUrl } from "./url.js";
import { kindOf } from "./values.js";

type Issue = z.core.$ZodIssue;

/** One problem. It contains no values. */
export interface Problem {
  path: PropertyKey[];
  /** The path as text, such as `workspaces[1].baseUrl`; empty at the top. */
  field: string;
  /** Whether the problem is the field's name, not its value. */
  isKey: boolean;
  text: string;
}

const TYPES = new Map([
  ["string", "a string"],
  ["array", "a list"],
  ["tuple", "a list"],
  ["object", "an object"],
  ["record", "an object"],
  ["int", "a whole number"],
  ["number", "a number"],
  ["boolean", "true or false"],
]);

/** Returns the message for an issue if the schema does not define one. */
export const errorMap: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === "invalid_type") {
    const accepted = TYPES.get(issue.expected) ?? issue.expected;
    if (issue.input === undefined) return `is missing; must be ${accepted}`;
    const fields = issue.inst instanceof z.ZodObject ? `; its fields are ${namesOf(issue.inst)}` : "";
    if (issue.input === null) return `is empty (null); must be ${accepted}${fields}`;
    const hint = issue.expected === "string" ? "; put it in quotes" : fields;
    return `must be ${accepted}, got ${kindOf(issue.input)}${hint}`;
  }
  if (issue.code === "invalid_value") {
    const accepted = issue.values.map((value) => JSON.stringify(value)).join(", ");
    return issue.values.length === 1 ? `must be ${accepted}` : `must be one of ${accepted}`;
  }
  if (issue.code === "too_small") return wordLimit("at least", issue.origin, issue.minimum);
  if (issue.code === "too_big") return wordLimit("at most", issue.origin, issue.maximum);
  if (issue.code === "unrecognized_keys") {
    const known = issue.inst instanceof z.ZodObject ? namesOf(issue.inst) : "";
    return `is not a known field; the fields are ${known}`;
  }
  return undefined;
};

const namesOf = ({ shape }: z.ZodObject): string => Object.keys(shape).join(", ");

/** Formats an error: what is accepted, what was given, how to fix it. Only for fields without secrets. */
export function expected(accepted: string, hint: string): z.core.$ZodErrorMap {
  return ({ input }) => {
    const got =
      typeof input === "string" ? JSON.stringify(input) : typeof input === "number" ? input : kindOf(input);
    return `must be ${accepted}, got ${got}; ${hint}`;
  };
}

function wordLimit(bound: string, origin: string, limit: number | bigint): string {
  if (origin === "string") {
    return bound === "at least" && limit === 1
      ? "must not be empty"
      : `must be ${bound} ${limit} characters long`;
  }
  if (origin === "array") return `must have ${bound} ${limit} ${limit === 1 ? "entry" : "entries"}`;
  return `must be ${bound} ${limit}`;
}

/** Returns what is wrong with a value, one text for each problem. */
type DescribeProblems<T> = (value: T) => string | undefined | readonly string[];

export const validatedBy = <T>(describe: DescribeProblems<unknown>): z.ZodType<T> =>
  z.unknown().superRefine(refineWith(describe)) as z.ZodType<T>;

/** Returns a check for `superRefine`, which runs only after the schema has checked the type. */
export const refineWith =
  <T>(describe: DescribeProblems<T>) =>
  (value: T, context: z.RefinementCtx): void => {
    for (const message of [describe(value) ?? []].flat()) context.addIssue({ code: "custom", message });
  };

export const httpUrl = (example: string): z.ZodType<string> =>
  validatedBy((value) => problemOfUrl(value, example));

/** Runs a check of a whole object even if some of its fields are invalid, so that all problems are reported at once. */
export const onAnyObject = {
  when: ({ value }: { value: unknown }): boolean => typeof value === "object" && value !== null,
};

export type Parsed<T> = { data: T; problems?: never } | { data?: never; problems: Problem[] };

export function parse<T>(schema: z.ZodType<T>, value: unknown, words = errorMap): Parsed<T> {
  const { data, error } = schema.safeParse(value, { error: words });
  return error === undefined
    ? { data }
    : { problems: error.issues.flatMap((issue) => problemsOfIssue(issue, [])) };
}

export const describeProblems = (problems: readonly Problem[]): string[] =>
  problems.map((problem) => renderProblem(problem));

export const problemsOf = (schema: z.ZodType, value: unknown): Problem[] =>
  parse(schema, value).problems ?? [];

function problemsOfIssue(issue: Issue, above: readonly PropertyKey[]): Problem[] {
  const path = [...above, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => toUnknownField([...path, key], issue.message));
  }
  const branch = issue.code === "invalid_union" ? findNearest(issue.errors) : undefined;
  if (branch !== undefined) return branch.flatMap((inner) => problemsOfIssue(inner, path));
  const text = issue.message.replace(/^expected /, "must be ");
  return [{ path, field: toField(path), isKey: false, text }];
}

/** Returns the issues of the union member that matched best, if any. */
function findNearest(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const deep = branches.filter((issues) => issues.length > 0 && issues.every(({ path }) => path.length > 0));
  return deep.toSorted((a, b) => a.length - b.length)[0];
}

export const toField = (path: readonly PropertyKey[]): string =>
  z.core.toDotPath(path.map((part) => (typeof part === "string" && !mayShow(part) ? "*" : part)));

/** A workspace's name in a configuration; it is used in paths, logs and on command lines. */
export const WORKSPACE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Whether to show a name that the user chose. If it is long, or has digits and symbols, it may be a key. */
const mayShow = (name: string): boolean =>
  WORKSPACE_NAME.test(name) || (name !== "" && name.length < 32 && !/\d/.test(name));

export const showName = (name: string): string =>
  name === "" || mayShow(name) ? JSON.stringify(name) : "one that is not shown, because it may be a key";

/** Whether a string looks like a name. Otherwise it may be a value in the wrong place and is not shown. */
export const isPlainName = (name: string): boolean => /^[A-Za-z][A-Za-z_-]{0,30}$/.test(name);

/** The name may be a misplaced value: if a colon is missing, YAML parses a value as a name. */
function toUnknownField(path: PropertyKey[], text: string): Problem {
  const isPlain = isPlainName(String(path.at(-1)));
  const shown = isPlain ? path : path.slice(0, -1);
  return { path, field: toField(shown), isKey: true, text: isPlain ? text : `a name here ${text}` };
}
