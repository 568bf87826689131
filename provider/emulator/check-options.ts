import * as z from "zod";
import { ApiChatError } from "../errors/index.js";
import { describeIssues, inOurWords } from "../lib/validate.js";

/** What may stand in a path as it is: names of workspaces and bot codes. */
export const pathSegment = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, {
  error: "must start with a letter or digit and hold only letters, digits, '.', '_' and '-'",
});

/** Checks options that a caller gave to `method`. The message names each field and holds none of the values. */
export function parseOptions<T>(method: string, schema: z.ZodType<T>, options: unknown): T {
  const parsed = schema.safeParse(options, { error: inOurWords });
  if (parsed.success) return parsed.data;
  throw invalidOption(`${method}: ${describeIssues(parsed.error.issues).join("; ")}`);
}

/** A mistake in how the emulator was called. */
export function invalidOption(message: string, cause?: unknown): ApiChatError {
  return new ApiChatError("invalid_config", message, { operation: "check", cause });
}
