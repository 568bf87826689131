import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { generateJsonSchemas } from "../../../tools/schema/json-schema.ts";
import { corpus } from "./corpus.js";
import { parseJsonSchemas, walkFields } from "./json-schema-fields.js";

const schemaFolder = new URL("../../../schema/", import.meta.url);
const generated = generateJsonSchemas();
const files = parseJsonSchemas(generated);

it("finds in schema/ exactly what the generator writes (else run: node tools/schema/generate.ts)", () => {
  const names = readdirSync(schemaFolder).filter((name) => name.endsWith(".schema.json"));
  const written = new Map(names.map((name) => [name, readFileSync(new URL(name, schemaFolder), "utf8")]));
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(generated));
});

it("describes every field", () => {
  const withoutDescription = corpus.flatMap(({ shape }) =>
    walkFields(files, shape.ref)
      .fields.filter(({ path, schema }) => !path.endsWith(".0") && !schema.description)
      .map(({ path }) => `${shape.name}.${path}`),
  );
  expect(withoutDescription).toEqual([]);
});

it("describes every file and every definition", () => {
  const withoutDescription = [...files].flatMap(([file, schema]) =>
    [[file, schema] as const, ...Object.entries(schema.definitions ?? {})]
      .filter(([, { description }]) => !description)
      .map(([name]) => `${file} ${name}`),
  );
  expect(withoutDescription).toEqual([]);
});

it("has no link to code in a description", () => {
  expect([...generated.values()].filter((text) => text.includes("{@link"))).toEqual([]);
});
