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
