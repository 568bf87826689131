import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { VERSION } from "../../provider/lib/version.ts";
import samples from "../../schema/samples.json" with { type: "json" };
import { inClone } from "../lib/clone.ts";
import { schemaFiles } from "./json-schema.ts";

/** A JSON Schema, or a part of a document. */
export interface JsonObject {
  [keyword: string]: unknown;
}

interface Document extends JsonObject {
  openapi: string;
  info: JsonObject;
  components: { securitySchemes: JsonObject; schemas: JsonObject };
}

/**
 * Generates schema/openapi.json (OpenAPI 3.1) from openapi.yaml and the generated JSON Schemas. `jsonSchemas`
 * is keyed by file name.
 */
export function generateOpenApi(jsonSchemas: ReadonlyMap<string, string>): string {
  const source = parse(readFileSync(inClone("schema/openapi.yaml"), "utf8")) as Document;
  const { openapi, info, components, ...rest } = expand(source) as Document;
  const document = {
    openapi,
    "x-comment": "Generated from the zod schemas by tools/schema/generate.ts. Do not edit.",
    info: { ...info, version: VERSION },
    ...rest,
    components: { ...components, schemas: { ...listComponents(jsonSchemas), ...components.schemas } },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Expands the short forms in a part of openapi.yaml. `write`, if given, expands the strings directly in `node`. */
function expand(node: unknown, write?: (text: string) => JsonObject): unknown {
  if (Array.isArray(node)) return node.map((one) => expand(one));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([keyword, value]) => [
      keyword,
      write && typeof value === "string" ? write(value) : expand(value, SHORT_FORMS[keyword]),
    ]),
  );
}

const SHORT_FORMS: Record<string, (text: string) => JsonObject> = {
  examples: sampleOf,
  responses: refusalFor,
};

function sampleOf(name: string): JsonObject {
  if (!(name in samples)) throw new Error(`samples.json has no sample ${name}`);
  return { summary: name, value: samples[name as keyof typeof samples] };
}

/** Describes a rejection. Each description says that the specification does not define how errors look. */
function refusalFor(reason: string): JsonObject {
  return {
    description: `${reason} The emulator's reading; the specification shows no errors (section 7).`,
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Refusal" },
        examples: { refused: { summary: "An error", value: { status: "error", message: reason } } },
      },
    },
  };
}

/**
 * Returns every generated JSON Schema and each of their `definitions`, by name. Converts draft 7 to 2020-12,
 * the dialect of OpenAPI 3.1. Throws if two files define a name differently.
 */
function listComponents(jsonSchemas: ReadonlyMap<string, string>): Record<string, JsonObject> {
  const components: Record<string, JsonObject> = {};
  for (const { file, type } of schemaFiles) {
    const text = jsonSchemas.get(file);
    if (text === undefined) throw new Error(`no generated file ${file}`);
    const {
      $schema: _dialect,
      $comment: _header,
      definitions,
      ...schema
    } = JSON.parse(text, convertKeyword) as JsonObject;
    for (const [name, component] of Object.entries({ [type]: schema, ...(definitions as JsonObject) })) {
      const present = components[name] ?? component;
      if (!isDeepStrictEqual(present, component)) throw new Error(`two definitions of ${name}`);
      components[name] = present as JsonObject;
    }
  }
  return components;
}

function convertKeyword(keyword: string, value: unknown): unknown {
  if (keyword === "$ref") return String(value).replace("#/definitions/", "#/components/schemas/");
  if (keyword !== "items" || !Array.isArray(value)) return value;
  // A list with exactly one entry (minItems and maxItems are 1): `items` can be the schema of the entry itself.
  if (value.length !== 1) throw new Error("only lists of one entry are supported");
  return value[0];
}
