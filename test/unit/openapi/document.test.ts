import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { generateJsonSchemas } from "../../../tools/schema/json-schema.ts";
import { generateOpenApi } from "../../../tools/schema/openapi.ts";
import { openApi } from "../../support/openapi.js";

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
