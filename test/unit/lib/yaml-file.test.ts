import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import type { ApiChatError } from "../../../provider/errors/index.js";
import { parseYaml, readYamlFile } from "../../../provider/lib/yaml-file.js";
import { makeFolder } from "../../support/folder.ts";

const place = z.strictObject({
  name: z.string(),
  apiKey: z.string().optional(),
  port: z.int().min(1).optional(),
  flow: z.enum(["echo", "menu"]).optional(),
});
const shape = z.strictObject({ defaults: place.partial().optional(), places: z.array(place) });

const SECRET = "secret-word-0123456789";

/** Returns the failure's message. The failure must have the code `invalid_config`. */
function failureOf(text: string): string {
  try {
    parseYaml(text, shape, "places.yaml");
  } catch (error) {
    const { code, operation, message } = error as ApiChatError;
    return code === "invalid_config" && operation === "check" ? message : String(error);
  }
  throw new Error("was read");
}

test.each([
  ["YAML", "# comment\nplaces:\n  - name: acme\n    port: 80\n"],
  ["JSON", '{\n\t"places": [{ "name": "acme", "port": 80 }]\n}'],
])("a file in %s is parsed", (_, text) => {
  expect(parseYaml(text, shape, "places.yaml")).toEqual({ places: [{ name: "acme", port: 80 }] });
});

test.each([
  [
    "a value of the wrong type",
    "places:\n  - name: a\n    port: x\n",
    "3:11: places[0].port: must be a number, got a string",
  ],
  [
    "an API key that is a number",
    "places:\n  - name: a\n    apiKey: 123\n",
    "3:13: places[0].apiKey: must be a string, got a number; put it in quotes",
  ],
  [
    "the parent of a missing field",
    "places:\n  - name: a\n  - port: 80\n",
    "3:5: places[1].name: is missing; must be a string",
  ],
  [
    "the name of an unknown field",
    "places:\n  - name: a\n    pork: 80\n",
    "3:5: places[0].pork: is not a known field; the fields are name, apiKey, port, flow",
  ],
  ["a text file", "places", "1:1: must be an object, got a string; its fields are defaults, places"],
  ["a field without a value", "places:\n", "1:8: places: is empty (null); must be a list"],
  ["an empty file", "", "1:1: is empty (null); must be an object; its fields are defaults, places"],
  [
    "the second of two equal fields",
    "places: []\nplaces: []\n",
    "2:1: the same field appears twice; remove one of them",
  ],
  ["the end after an open bracket", "places: [\n", "2:1: the indentation is wrong, or a bracket"],
  ["the second of two documents", "places: []\n---\nplaces: []\n", "2:1: a second document starts here"],
])("the failure names the field and the position of %s", (_, text, expected) => {
  expect(failureOf(text)).toMatch(`places.yaml:${expected}`);
  expect(failureOf(text).split("\n")).toHaveLength(1);
});

test("an entry's failures precede the next entry's, and a misspelt field comes before a missing one", () => {
  const fields = failureOf("places:\n  - nane: a\n  - pork: 80\n")
    .split("\n")
    .map((line) => line.split(": ")[1]);
  expect(fields).toEqual(["places[0].nane", "places[0].name", "places[1].pork", "places[1].name"]);
});

test.each([
  `places: [${SECRET}]`,
  `places: [{ name: a, apiKey:${SECRET} }]`,
  `places: [{ name: a, ${SECRET} }]`,
  `places: [{ name: a, flow: ${SECRET} }]`,
  `places: *${SECRET}`,
  `places: "${SECRET}`,
  `%${SECRET}\n---\nplaces: []`,
  `places: []\n}${SECRET}`,
  `a: b: ${SECRET}`,
  `${SECRET}: 1\n${SECRET}: 2`,
])("the failure for %j contains none of the file's values", (text) => {
  expect(failureOf(text)).not.toContain(SECRET);
});

test("a file is read, and a failure begins with the file's path", async () => {
  const folder = await makeFolder();
  const file = join(folder, "places.yaml");
  await writeFile(file, "\uFEFFplaces: [{ name: olá }]\r\n");
  expect(await readYamlFile(file, shape)).toEqual({ places: [{ name: "olá" }] });
  await writeFile(file, "places: {}\n");
  await expect(readYamlFile(file, shape)).rejects.toThrow(`${file}:1:9: places: must be a list`);
  await writeFile(file, Uint8Array.of(0xff, 0xfe));
  await expect(readYamlFile(file, shape)).rejects.toThrow("must be UTF-8 text");
  await expect(readYamlFile(join(folder, "none"), shape)).rejects.toThrow("cannot be read (ENOENT)");
});
