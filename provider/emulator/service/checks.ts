import { timingSafeEqual } from "node:crypto";
import type * as z from "zod";
import { inOurWords, problemsOfIssues } from "../../lib/validate.js";
import { HttpError, refuseFields } from "../errors.js";
import type { WorkspaceState } from "../state.js";

/** The token of `Authorization: Bearer`; undefined if the header is missing or of another scheme. */
export function bearerOf(headers: Readonly<Record<string, string>>): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
}

/** Whether what a request presents is the key, in a time that does not tell how much of it is right, but for its length. */
export function isSameKey(presented: unknown, key: string): boolean {
  if (typeof presented !== "string") return false;
  const [given, right] = [Buffer.from(presented), Buffer.from(key)];
  return given.length === right.length && timingSafeEqual(given, right);
}

/** A key is missing or wrong. Every 401 of HTTP names a scheme, where one is known. */
export function refuseKey(message: string): HttpError {
  return new HttpError(401, message, { headers: { "www-authenticate": "Bearer" } });
}

const SECOND_MS = 1000;

/** Counts a call or message of a workspace, or refuses it: there were as many within the last second as are allowed. */
export function countWithinRate(workspace: WorkspaceState, requestsPerSecond: number | undefined): void {
  if (requestsPerSecond === undefined) return;
  const now = performance.now();
  const recent = workspace.requestTimes.filter((time) => now - time < SECOND_MS);
  workspace.requestTimes = recent;
  const [oldest = now] = recent;
  if (recent.length >= requestsPerSecond) {
    const seconds = Math.ceil((oldest + SECOND_MS - now) / SECOND_MS);
    throw new HttpError(429, `more than ${requestsPerSecond} requests of this workspace in a second`, {
      headers: { "retry-after": String(Math.max(1, seconds)) },
    });
  }
  recent.push(now);
}

/** The JSON object that a body holds: 400 if it is not JSON, 422 if it is no object. */
export function readObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpError(400, "the body is not JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new HttpError(422, "the body must be a JSON object");
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

const ONE_ENTRY = "must be a list of exactly one entry";

/** Adds the words for lists, of which a message has none but those of one entry. */
const wordOf: z.core.$ZodErrorMap = (issue) => {
  if ((issue.code === "too_small" || issue.code === "too_big") && issue.origin === "array") return ONE_ENTRY;
  if (issue.code !== "invalid_type" || issue.expected !== "tuple") return inOurWords(issue);
  return issue.input === undefined ? `is missing; ${ONE_ENTRY}` : ONE_ENTRY;
};
