import { schemaFiles } from "./json-schema.ts";
import { samples, type SampleName } from "./samples.ts";

/** A JSON Schema, or a part of one. */
export interface JsonSchema {
  [keyword: string]: unknown;
}

/** What answers a request that is refused. No such shape is in the specification, so none is in schema/. */
const refusal: JsonSchema = {
  description:
    "A refusal as the emulator of this package answers it. The specification shows no error shape (section 7): " +
    "with the real service rely on the HTTP status alone, and take any body.",
  type: "object",
  properties: {
    status: { description: "Anything but `ok`; the emulator says `error`.", type: "string" },
    message: { description: "What was wrong, for people. It names fields, never a value.", type: "string" },
  },
  required: ["status", "message"],
};

/**
 * `components.schemas`: every generated JSON Schema under the name of its type, beside the definitions inside it.
 * Draft 7 becomes 2020-12, the dialect of OpenAPI 3.1. Throws if two files define one name in two ways.
 */
export function listComponents(jsonSchemas: ReadonlyMap<string, string>): Record<string, JsonSchema> {
  const components: Record<string, JsonSchema> = {};
  const add = (name: string, schema: JsonSchema): void => {
    const converted = convert(schema) as JsonSchema;
    const present = components[name] ?? converted;
    if (JSON.stringify(present) !== JSON.stringify(converted)) throw new Error(`two definitions of ${name}`);
    components[name] = converted;
  };
  for (const { file, type } of schemaFiles) {
    const text = jsonSchemas.get(file);
    if (text === undefined) throw new Error(`no generated file ${file}`);
    const { $schema: _dialect, $comment: _header, definitions, ...schema } = JSON.parse(text) as JsonSchema;
    add(type, schema);
    for (const [name, definition] of Object.entries(definitions ?? {})) add(name, definition as JsonSchema);
  }
  return { ...components, Refusal: refusal };
}

/** A reference to a component. */
export function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function convert(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(convert);
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(convertKeyword));
}

function convertKeyword([keyword, value]: [string, unknown]): [string, unknown] {
  if (keyword === "$ref") return [keyword, String(value).replace("#/definitions/", "#/components/schemas/")];
  // A list of one entry, whose length minItems and maxItems fix: the plain form says the same.
  if (keyword === "items" && Array.isArray(value)) {
    if (value.length !== 1) throw new Error("only lists of one entry are described");
    return [keyword, convert(value[0])];
  }
  return [keyword, convert(value)];
}

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
