import type * as z from "zod";
import { ApiChatError } from "../errors/index.js";
import { describeIssues, inOurWords } from "../lib/validate.js";

/** What is wrong with each field of a body: texts without values, by the path of the field. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

/** A request that is answered with an error: its HTTP status, and a message that holds no secret. */
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

/** A body of which fields are wrong: 422 with all of them in the message. */
export function refuseFields(fields: FieldErrors): HttpError {
  const problems = Object.entries(fields).flatMap(([field, texts]) =>
    texts.map((text) => (field === "" ? text : `${field}: ${text}`)),
  );
  return new HttpError(422, problems.join("; "), { fields });
}

/** A mistake in how the emulator was called. */
export function invalidOption(message: string, cause?: unknown): ApiChatError {
  return new ApiChatError("invalid_config", message, { operation: "check", cause });
}

/** Checks options that a caller gave to `method`. The message names each field and holds none of the values. */
export function parseOptions<T>(method: string, schema: z.ZodType<T>, options: unknown): T {
  const parsed = schema.safeParse(options, { error: inOurWords });
  if (parsed.success) return parsed.data;
  throw invalidOption(`${method}: ${describeIssues(parsed.error.issues).join("; ")}`);
}
