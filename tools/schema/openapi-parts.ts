import { refTo, type JsonSchema } from "./openapi-components.ts";
import { samples, type SampleName } from "./samples.ts";

/** The statuses of refusals are in no part of the specification: this is said wherever one is listed. */
const emulatorsReading = "The emulator's reading; the specification shows no errors (section 7).";

/** `examples` of a media type: the right value of each of these shapes, under its summary's key. */
export function examplesOf(names: Record<string, SampleName>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(names).map(([key, name]) => [key, { summary: name, value: samples[name] }]),
  );
}

/** A JSON body. */
export function jsonContent(schema: JsonSchema, examples?: Record<string, JsonSchema>): JsonSchema {
  return { "application/json": { schema, ...(examples && { examples }) } };
}

/** Answers of refusals, by status. */
export function refusals(reasons: Record<number, string>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(reasons).map(([status, reason]) => [
      status,
      {
        description: `${reason} ${emulatorsReading}`,
        content: jsonContent(refTo("Refusal"), {
          refused: { summary: "A refusal", value: { status: "error", message: reason } },
        }),
      },
    ]),
  );
}

/** The answer to a client that calls too often (section 8 shows no limit). */
export const tooManyCalls: JsonSchema = {
  description:
    "Too many calls: wait as long as `Retry-After` says. The specification shows no limits (section 8); the emulator " +
    "has none unless told.",
  headers: {
    "Retry-After": { description: "Whole seconds to wait.", schema: { type: "integer", minimum: 0 } },
  },
  content: jsonContent(refTo("Refusal")),
};
