import type * as z from "zod";
import { problemsOfIssues, inOurWords } from "../lib/validate.js";
import { Refusal, refuseFields } from "./refusal.js";

const ONE_ENTRY = "must be a list of exactly one entry";

/** What a body holds as JSON, or its text if it is none. */
export function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The JSON object that a body holds, as `parseOrKeep` gave it: 400 if it is not JSON, 422 if it is no object. */
export function readObject(text: string, parsed: unknown): object {
  if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed;
  // The text of a JSON text is longer than it.
  if (parsed === text) throw new Refusal(400, "the body is not JSON");
  throw new Refusal(422, "the body must be a JSON object");
}

/** The body if it has the shape; else 422 naming each field that is wrong, and none of the values. */
export function parseBody<T>(schema: z.ZodType<T>, body: object): T {
  const parsed = schema.safeParse(body, { error: wordOf });
  if (parsed.success) return parsed.data;
  const fields: Record<string, string[]> = {};
  for (const { path, isKey, field, text } of problemsOfIssues(parsed.error.issues)) {
    // A name that does not look like one is not shown: it may be a value that lost its way.
    const shown = isKey && field === "" ? "" : path.map(String).join(".");
    (fields[shown] ??= []).push(text);
  }
  throw refuseFields(fields);
}

/** Adds the words for lists, of which a message has none but those of one entry. */
const wordOf: z.core.$ZodErrorMap = (issue) => {
  if ((issue.code === "too_small" || issue.code === "too_big") && issue.origin === "array") return ONE_ENTRY;
  if (issue.code !== "invalid_type" || issue.expected !== "tuple") return inOurWords(issue);
  return issue.input === undefined ? `is missing; ${ONE_ENTRY}` : ONE_ENTRY;
};
