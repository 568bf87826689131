/**
 * Prints how many of our files each flow loads from its first file, following imports of values. Files behind
 * a dynamic import are counted separately. `--list` prints the files. Exit code 1 if a flow exceeds its
 * budget.
 */
import { cruise, type ICruiseResult } from "dependency-cruiser";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** The first files of each flow, and its budget. */
const FLOWS: Record<string, { begins: readonly string[]; budget?: number }> = {
  "pulumi up of one webhook": {
    begins: ["provider/webhook/inputs.ts", "provider/webhook/lifecycle.ts"],
    budget: 55,
  },
  "a delivery through the server of apichat responder": { begins: ["provider/server/server.ts"], budget: 45 },
  "a message into the emulator and its reply": {
    begins: ["provider/emulator/service/messages.ts"],
    budget: 31,
  },
  "all that the engine's provider process loads": { begins: ["provider/dynamic.ts"] },
};

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { values } = parseArgs({ options: { list: { type: "boolean" } } });
const { output } = await cruise(["provider", "schema"], {
  tsPreCompilationDeps: true,
  doNotFollow: { path: "node_modules" },
});
const modules = new Map((output as ICruiseResult).modules.map((module) => [module.source, module]));

for (const [name, { begins, budget = Infinity }] of Object.entries(FLOWS)) {
  const loaded = closure(begins, false);
  const later = [...closure(begins, true)].filter((path) => !loaded.has(path));
  const limit = budget === Infinity ? "" : ` (at most ${budget})`;
  console.log(`${name}: ${loaded.size} files${limit}, ${later.length} more by dynamic import`);
  const files = [...[...loaded].toSorted(), ...later.toSorted().map((path) => `${path} (dynamic import)`)];
  if (values.list) console.log(files.map((file) => `  ${file}`).join("\n"));
  if (loaded.size > budget) process.exitCode = 1;
}

/** The files that `begins` load, including themselves. */
function closure(begins: readonly string[], withDynamic: boolean): Set<string> {
  const found = new Set(begins);
  for (const path of found) {
    const module = modules.get(path);
    if (!module) throw new Error(`${path} does not exist: change in tools/closures.ts where its flow begins`);
    for (const { dependencyTypes, dynamic, resolved } of module.dependencies) {
      if (dependencyTypes.includes("type-only") || (dynamic && !withDynamic)) continue;
      if (/^(?:provider|schema)\/.*\.tsx?$/.test(resolved)) found.add(resolved);
    }
  }
  return found;
}
