/** `npm run engine`: prints the path of the engine's `pulumi` (with `--json` all that is known) and the line that puts it on PATH. */
import process from "node:process";
import { abortOnSignals, runTool } from "../setup/run.mjs";
import { exportLine } from "./environment.ts";
import { resolveEngine } from "./resolve.ts";

await runTool(async () => {
  const engine = await resolveEngine({ signal: abortOnSignals() });
  console.log(process.argv.includes("--json") ? JSON.stringify(engine) : engine.command);
  // On stderr: scripts read the path.
  if (engine.source !== "path") console.error(exportLine(engine));
});
process.exit();
