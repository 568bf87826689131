/** `npm run check`: every check except the tests. `npm run check types lint` runs only these two. */
import { globSync } from "node:fs";
import process from "node:process";
import { abortOnSignals, runAttached, runTool } from "./lib/run.ts";

/** All projects except those that need the generated SDK. */
const projects = globSync("**/tsconfig.json", { exclude: ["**/node_modules", "sdk", "examples/typescript"] });

const CHECKS: Record<string, readonly string[]> = {
  types: projects.toSorted().map((file) => `tsc -p ${file} --noEmit`),
  sizes: ["node tools/sizes.ts"],
  lint: ["oxlint --type-aware --deny-warnings"],
  format: ["prettier --check --log-level warn ."],
  imports: ["depcruise provider schema tools test --output-type err"],
  schema: ["node tools/schema/generate.ts --check"],
  openapi: ["redocly lint schema/openapi.json --config .redocly.yaml"],
  reference: ["typedoc --options .typedoc.json"],
  unused: ["knip"],
  package: ["publint --strict", "attw --pack --profile esm-only --format ascii ."],
};

await runTool(async () => {
  const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(CHECKS);
  const signal = abortOnSignals();
  const failed: string[] = [];
  for (const name of wanted) {
    const commands = CHECKS[name];
    if (commands === undefined) throw new Error(`${name}: not one of ${Object.keys(CHECKS).join(", ")}`);
    for (const command of commands) {
      console.log(`${name}: ${command}`);
      if ((await runAttached(command.split(" "), { signal })) !== 0) failed.push(name);
    }
  }
  if (failed.length > 0) console.error(`FAILED: ${[...new Set(failed)].join(", ")}`);
  return failed.length === 0 ? 0 : 1;
});
