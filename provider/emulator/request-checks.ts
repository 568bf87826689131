import { timingSafeEqual } from "node:crypto";
import type * as z from "zod";
import { isMap } from "../lib/values.js";
import { errorMap, parse } from "../lib/validate.js";

/** The problems of a body, keyed by the paths of its fields, without values. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

/** The error response to a request. The message contains no secrets. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly httpStatus: number;
  readonly headers: Record<string, string>;
  readonly fields: FieldErrors;

  constructor(
    httpStatus: number,
    message: string,
    { headers = {}, fields = {} }: { headers?: Record<string, string>; fields?: FieldErrors } = {},
  ) {
    super(message);
    this.httpStatus = httpStatus;
    this.headers = headers;
    this.fields = fields;
  }
}

/** Returns a 422 that names every invalid field of a body. */
export function rejectFields(fields: FieldErrors): HttpError {
  const problems = Object.entries(fields).flatMap(([field, texts]) =>
    texts.map((text) => (field === "" ? text : `${field}: ${text}`)),
  );
  return new HttpError(422, problems.join("; "), { fields });
}

/** Parses a body. Throws a 400 if it is not JSON. */
export function parseJsonBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError(400, "the body is not JSON");
  }
}

/** Parses a body as a JSON object. Throws a 400 if it is not JSON, a 422 if it is not an object. */
export function readObject(text: string): object {
  const value = parseJsonBody(text);
  if (isMap(value)) return value;
  throw new HttpError(422, "the body must be a JSON object");
}

/** Parses a body. Throws a 422 that names each wrong field and contains no values. */
export function parseBody<T>(schema: z.ZodType<T>, body: object): T {
  const { data, problems } = parse(schema, body, wordOf);
  if (problems === undefined) return data;
  const fields: Record<string, string[]> = {};
  for (const { path, isKey, field, text } of problems) {
    // A name that does not look like a field name is not shown, because it may be a misplaced value.
    const shown = isKey && field === "" ? "" : path.map(String).join(".");
    (fields[shown] ??= []).push(text);
  }
  throw rejectFields(fields);
}

const ONE_ENTRY = "must be a list of exactly one entry";

/** Adds the wording for lists: every list in a message has exactly one entry. */
const wordOf: z.core.$ZodErrorMap = (issue) => {
  if ((issue.code === "too_small" || issue.code === "too_big") && issue.origin === "array") return ONE_ENTRY;
  if (issue.code !== "invalid_type" || issue.expected !== "tuple") return errorMap(issue);
  return issue.input === undefined ? `is missing; ${ONE_ENTRY}` : ONE_ENTRY;
};

/** Returns the token of `Authorization: Bearer`; undefined if the header is missing or has a different scheme. */
export function bearerOf(headers: Readonly<Record<string, string>>): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
}

/** Compares in a time that reveals nothing about the key except its length. */
export function isSameKey(presented: unknown, key: string): boolean {
  if (typeof presented !== "string") return false;
  const [given, right] = [Buffer.from(presented), Buffer.from(key)];
  return given.length === right.length && timingSafeEqual(given, right);
}

/** Returns a 401 for a missing or wrong key. HTTP requires a 401 to name an authentication scheme. */
export function rejectKey(message: string): HttpError {
  return new HttpError(401, message, { headers: { "www-authenticate": "Bearer" } });
}
