import { readdirSync, readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import { reviveConversationId } from "../../../schema/message-kind.js";
import { inboundMessage, outboundMessage } from "../../../schema/index.js";
import { generateJsonSchemas } from "../../../tools/schema/json-schema.ts";
import { type Shape } from "./corpus-values.js";
import { corpus, putAt, toJson } from "./corpus.js";
import { parseJsonSchemas, walkFields } from "./json-schema-fields.js";

const generated = generateJsonSchemas();
const files = parseJsonSchemas(generated);
const ajv = new Ajv({ strict: true, allowUnionTypes: true });
for (const [file, schema] of files) ajv.addSchema(schema, file);

/** Both verdicts on the text of one JSON value, as it would stand on the wire. */
function judge({ zod, ref }: { zod: z.ZodType; ref: string }, text: string) {
  const validate = ajv.getSchema(ref);
  if (validate === undefined) throw new Error(`no JSON Schema at ${ref}`);
  return {
    zod: zod.safeParse(JSON.parse(text, reviveConversationId)).success,
    jsonSchema: validate(JSON.parse(text)),
  };
}

interface FieldCases {
  shape: Shape;
  path: string;
  values: readonly unknown[];
}

function listCases(verdict: "accepted" | "rejected"): FieldCases[] {
  return corpus.flatMap((entry) =>
    Object.entries(entry[verdict]).map(([path, values]) => ({ shape: entry.shape, path, values })),
  );
}

const accepted = listCases("accepted");
const rejected = listCases("rejected");

/** The values of which zod or the JSON Schema does not say what is expected. */
function findMisjudged({ shape, path, values }: FieldCases, expected: boolean) {
  return values
    .map((value) => ({ value, ...judge(shape, toJson(putAt(shape.valid, path, value))) }))
    .filter(({ zod, jsonSchema }) => zod !== expected || jsonSchema !== expected);
}

describe("zod and the JSON Schema judge alike", () => {
  it.each(corpus)("accepts a right $shape.name", ({ shape }) => {
    expect(judge(shape, toJson(shape.valid))).toEqual({ zod: true, jsonSchema: true });
  });

  it.each(accepted)("accepts other values of $path in $shape.name", (cases) => {
    expect(cases.values.length).toBeGreaterThan(0);
    expect(findMisjudged(cases, true)).toEqual([]);
  });

  it.each(rejected)("rejects wrong values of $path in $shape.name", (cases) => {
    expect(cases.values.length).toBeGreaterThan(0);
    expect(findMisjudged(cases, false)).toEqual([]);
  });

  it.each([
    { ref: "inbound.schema.json", zod: inboundMessage, prefix: "Inbound" },
    { ref: "outbound.schema.json", zod: outboundMessage, prefix: "Outbound" },
  ])("gives the union in $ref one verdict on each case of its members", ({ ref, zod, prefix }) => {
    const ofMembers = [...accepted, ...rejected].filter(({ shape }) => shape.name.startsWith(prefix));
    const verdicts = ofMembers.flatMap(({ shape, path, values }) =>
      values.map((value) => ({
        path,
        value,
        ...judge({ zod, ref }, toJson(putAt(shape.valid, path, value))),
      })),
    );
    expect(verdicts.filter((verdict) => verdict.zod).length).toBeGreaterThan(20);
    expect(verdicts.filter((verdict) => !verdict.zod).length).toBeGreaterThan(20);
    expect(verdicts.filter((verdict) => verdict.zod !== verdict.jsonSchema)).toEqual([]);
  });
});

describe("the generated files", () => {
  it("are those in schema/ (else run: node tools/schema/generate.ts)", () => {
    const folder = new URL("../../../schema/", import.meta.url);
    const names = readdirSync(folder).filter((name) => name.endsWith(".schema.json"));
    const written = new Map(names.map((name) => [name, readFileSync(new URL(name, folder), "utf8")]));
    expect(Object.fromEntries(written)).toEqual(Object.fromEntries(generated));
  });

  it("describe every file, definition and field, without a link to code", () => {
    const definitions = [...files].flatMap(([file, schema]) =>
      [[file, schema] as const, ...Object.entries(schema.definitions ?? {})]
        .filter(([, { description }]) => !description)
        .map(([name]) => `${file} ${name}`),
    );
    const fields = corpus.flatMap(({ shape }) =>
      walkFields(files, shape.ref)
        .filter(({ path, schema }) => !path.endsWith(".0") && !schema.description)
        .map(({ path }) => `${shape.name}.${path}`),
    );
    const linked = [...generated.values()].filter((text) => text.includes("{@link"));
    expect([...definitions, ...fields, ...linked]).toEqual([]);
  });
});
