/**
 * Prints how many of our files three flows load: from the file where a flow begins, over imports of values. What only a
 * dynamic import reaches is counted apart. `--list` prints the files. Exit code 1 if a flow is over its budget.
 */
import { cruise, type ICruiseResult } from "dependency-cruiser";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

interface Flow {
  name: string;
  begins: readonly string[];
  budget?: number;
}

const flows: readonly Flow[] = [
  {
    name: "pulumi up of one webhook",
    begins: ["provider/webhook/inputs.ts", "provider/webhook/lifecycle.ts"],
    budget: 29,
  },
  {
    name: "a delivery through the server of apichat responder",
    begins: ["provider/server/server.ts"],
    budget: 40,
  },
  {
    name: "a message into the emulator and its reply",
    begins: ["provider/emulator/service/messages.ts"],
    budget: 25,
  },
  { name: "all that the engine's provider process loads", begins: ["provider/dynamic.ts"] },
];

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
const { output } = await cruise(["provider", "schema"], {
  tsPreCompilationDeps: true,
  doNotFollow: { path: "node_modules" },
});
const modules = new Map((output as ICruiseResult).modules.map((module) => [module.source, module]));

for (const { name, begins, budget } of flows) {
  const loaded = closure(begins, false);
  const later = [...closure(begins, true)].filter((path) => !loaded.has(path));
  const limit = budget === undefined ? "" : ` (at most ${budget})`;
  console.log(`${name}: ${loaded.size} files${limit}, ${later.length} more by dynamic import`);
  if (values.list) {
    for (const path of [...loaded].toSorted()) console.log(`  ${path}`);
    for (const path of later.toSorted()) console.log(`  ${path} (dynamic import)`);
  }
  if (budget !== undefined && loaded.size > budget) process.exitCode = 1;
}

/** The files that `begins` load, themselves included. */
function closure(begins: readonly string[], withDynamic: boolean): Set<string> {
  const found = new Set(begins);
  for (const path of found) {
    const module = modules.get(path);
    if (!module) throw new Error(`${path} is gone: say in tools/closures.ts where its flow begins now`);
    for (const { dependencyTypes, dynamic, resolved } of module.dependencies) {
      if (dependencyTypes.includes("type-only") || (dynamic && !withDynamic)) continue;
      if (/^(?:provider|schema)\/.*\.tsx?$/.test(resolved)) found.add(resolved);
    }
  }
  return found;
}
