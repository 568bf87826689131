import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { generateImageLock } from "./image.ts";
import { generateJsonSchemas } from "./json-schema.ts";
import { generateOpenApi } from "./openapi.ts";
import { generatePulumiSchema } from "./pulumi.ts";

/**
 * Writes schema/*.schema.json, schema/openapi.json, provider/plugin/schema.json and the lock file of examples/docker.
 * With `--check` it writes nothing, and exits with 1 if a file differs from its sources.
 */
const root = new URL("../../", import.meta.url);

const readFileIfExists = (file: URL): string | undefined =>
  existsSync(file) ? readFileSync(file, "utf8") : undefined;

const jsonSchemas = generateJsonSchemas();
const files = [
  ...[...jsonSchemas].map(([file, text]) => [`schema/${file}`, text] as const),
  ["schema/openapi.json", generateOpenApi(jsonSchemas)] as const,
  ["provider/plugin/schema.json", generatePulumiSchema()] as const,
  ...generateImageLock(),
];
const stale = files.filter(([file, text]) => readFileIfExists(new URL(file, root)) !== text);

if (stale.length === 0) {
  console.log("the generated files are up to date");
} else if (process.argv.includes("--check")) {
  const names = stale.map(([file]) => file).join(", ");
  console.error(`${names}: differs from its sources; run: npm run schema`);
  process.exitCode = 1;
} else {
  for (const [file, text] of stale) {
    writeFileSync(new URL(file, root), text);
    console.log(`wrote ${file}`);
  }
}
