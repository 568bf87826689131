import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { generateJsonSchemas } from "./json-schema.ts";
import { generateOpenApi } from "./openapi.ts";

/** Writes schema/*.schema.json and schema/openapi.json; with `--check` it writes nothing and exits 1 if a file is not what it would write. */
const schemaFolder = new URL("../../schema/", import.meta.url);

const readIfThere = (file: URL): string | undefined =>
  existsSync(file) ? readFileSync(file, "utf8") : undefined;

const jsonSchemas = generateJsonSchemas();
const stale = [...jsonSchemas, ["openapi.json", generateOpenApi(jsonSchemas)] as const].filter(
  ([file, text]) => readIfThere(new URL(file, schemaFolder)) !== text,
);

if (stale.length === 0) {
  console.log("schema/*.json are up to date");
} else if (process.argv.includes("--check")) {
  const names = stale.map(([file]) => `schema/${file}`).join(", ");
  console.error(`${names}: not what the zod schemas say; run: node tools/schema/generate.ts`);
  process.exitCode = 1;
} else {
  for (const [file, text] of stale) {
    writeFileSync(new URL(file, schemaFolder), text);
    console.log(`wrote schema/${file}`);
  }
}
