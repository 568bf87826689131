/**
 * Writes schema/*.schema.json, schema/openapi.json, provider/plugin/schema.json and the lock file of examples/docker.
 * With `--check` it writes nothing, and exits with 1 if a file differs from its sources.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { inClone } from "../lib/clone.ts";
import { generateImageLock } from "./image.ts";
import { generateJsonSchemas } from "./json-schema.ts";
import { generateOpenApi } from "./openapi.ts";
import { generatePulumiSchema } from "./pulumi.ts";

const jsonSchemas = generateJsonSchemas();
const files = Object.entries({
  ...Object.fromEntries([...jsonSchemas].map(([file, text]) => [`schema/${file}`, text])),
  "schema/openapi.json": generateOpenApi(jsonSchemas),
  "provider/plugin/schema.json": generatePulumiSchema(),
  ...generateImageLock(),
});
const isCheck = process.argv.includes("--check");
for (const [file, text] of files) {
  const path = inClone(file);
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  if (isCheck) {
    console.error(`${file} differs from its sources; run: npm run schema`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, text);
    console.log(`wrote ${file}`);
  }
}
