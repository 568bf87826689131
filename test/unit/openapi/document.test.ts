import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { schemaFiles, generateJsonSchemas } from "../../../tools/schema/json-schema.ts";
import { generateOpenApi } from "../../../tools/schema/openapi.ts";
import { samples } from "../../../tools/schema/samples.ts";
import { listProblems, openApi } from "../../support/openapi.js";
import { parseJsonSchemas } from "../schema/json-schema-fields.js";
import { corpus, putAt } from "../schema/corpus.js";

const generated = generateJsonSchemas();

it("is what the generator writes (else run: node tools/schema/generate.ts)", () => {
  const text = readFileSync(new URL("../../../schema/openapi.json", import.meta.url), "utf8");
  expect(text).toBe(generateOpenApi(generated));
});

it("names the servers of an emulator on this machine, at its own ports", () => {
  const messages = openApi.paths["/api/apichat/{bot_code}"];
  expect(openApi.servers.map(({ url }) => url)).toContain("http://127.0.0.1:4000");
  expect(messages?.servers?.map(({ url }) => url)).toContain("http://127.0.0.1:4001");
});

describe("components", () => {
  it("hold every shape and definition of the JSON Schemas", () => {
    const definitions = [...parseJsonSchemas(generated).values()].flatMap((schema) =>
      Object.keys(schema.definitions ?? {}),
    );
    const expected = [...schemaFiles.map(({ type }) => type), ...definitions];
    const missing = expected.filter((name) => !(name in openApi.components.schemas));
    expect(expected.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  it("refer to nothing outside the document", () => {
    const references = JSON.stringify(openApi).match(/"\$ref":"[^"]*"/g) ?? [];
    expect(references.length).toBeGreaterThan(20);
    expect(references.filter((text) => !text.startsWith('"$ref":"#/components/'))).toEqual([]);
  });

  it.each(corpus)("judge $shape.name as the JSON Schema does", ({ shape, accepted, rejected }) => {
    const judge = (values: typeof accepted) =>
      Object.entries(values).flatMap(([path, list]) =>
        list
          .filter((value) => typeof value !== "bigint")
          .map((value) =>
            listProblems(["components", "schemas", shape.name], putAt(shape.valid, path, value)),
          ),
      );
    expect(judge(accepted).filter((problems) => problems.length > 0)).toEqual([]);
    expect(judge(rejected).filter((problems) => problems.length === 0)).toEqual([]);
  });
});

describe("examples", () => {
  const bodies = listBodies();

  it("stand at every body", () => {
    expect(bodies.length).toBeGreaterThan(10);
    expect(bodies.filter(({ values }) => values.length === 0).map(({ place }) => place.join(" "))).toEqual([
      // What a message is answered with is not in the specification, and a 429 is a refusal like the others.
      "paths /{workspace}/apichat post responses 429 content application/json",
      "paths /api/apichat/{bot_code} post responses 429 content application/json",
      "paths /api/apichat/{bot_code} post responses 2XX content application/json",
    ]);
  });

  it("are right by the schema beside them", () => {
    const problems = bodies.flatMap(({ place, values }) =>
      values.flatMap((value) => listProblems([...place, "schema"], value)),
    );
    expect(problems).toEqual([]);
  });

  it("hold every request, message and delivery of the tests", () => {
    const shown = new Set(bodies.flatMap(({ values }) => values.map((value) => JSON.stringify(value))));
    const unseen = Object.entries(samples).filter(([, value]) => !shown.has(JSON.stringify(value)));
    // It stands inside the envelope.
    expect(unseen.map(([name]) => name)).toEqual(["WebhookConfiguration"]);
  });
});

interface DocumentedBody {
  place: string[];
  values: unknown[];
}

/** Every body of a request or an answer in the document. */
function listBodies(): DocumentedBody[] {
  const found: DocumentedBody[] = [];
  const visit = (node: unknown, place: string[]): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, child] of Object.entries(node)) {
      const here = [...place, key];
      if (place.at(-1) !== "content") visit(child, here);
      else found.push({ place: here, values: valuesOf(child as MediaType) });
    }
  };
  visit(openApi.paths, ["paths"]);
  visit(openApi.webhooks, ["webhooks"]);
  return found;
}

interface MediaType {
  examples?: Record<string, { value: unknown }>;
  example?: unknown;
}

function valuesOf({ examples = {}, example }: MediaType): unknown[] {
  const values = Object.values(examples).map(({ value }) => value);
  return example === undefined ? values : [...values, example];
}
