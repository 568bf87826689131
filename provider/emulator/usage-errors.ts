import type * as z from "zod";
import { ApiChatError } from "../errors/index.js";
import { describeProblems, parse } from "../lib/validate.js";

/** A usage error of the emulator. */
export function invalidOption(message: string, cause?: unknown): ApiChatError {
  return new ApiChatError("invalid_config", message, { operation: "check", cause });
}

/** Checks options, or the body or query of a request. The error names each wrong field and contains no values. */
export function parseOptions<T>(of: string, schema: z.ZodType<T>, options: unknown): T {
  const { data, problems } = parse(schema, options);
  if (problems === undefined) return data;
  throw invalidOption(`${of}: ${describeProblems(problems).join("; ")}`);
}
