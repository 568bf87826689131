/** `npm run engine`: prints the path of the engine's `pulumi` (with `--json` all that is known) and the line that puts it on PATH. */
import process from "node:process";
import { parseArgs } from "node:util";
import { abortOnSignals, Interrupted } from "../setup/processes.mjs";
import { exportLine } from "./environment.ts";
import { resolveEngine } from "./resolve.ts";

try {
  const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
  const engine = await resolveEngine({ signal: abortOnSignals() });
  console.log(values.json ? JSON.stringify(engine) : engine.command);
  // On stderr: scripts read the path.
  if (engine.source !== "path") console.error(exportLine(engine));
  process.exit();
} catch (error) {
  if (error instanceof Interrupted) process.exit(error.exitCode);
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
