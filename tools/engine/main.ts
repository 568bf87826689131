/** `npm run engine`: prints the path of the engine's `pulumi` (with `--json` all that is known), gets one first if need be. */
import process from "node:process";
import { parseArgs } from "node:util";
import { abortOnSignals, Interrupted } from "../setup/processes.mjs";
import { resolveEngine } from "./resolve.ts";

try {
  const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
  const engine = await resolveEngine({ signal: abortOnSignals() });
  console.log(values.json ? JSON.stringify(engine) : engine.command);
  process.exit();
} catch (error) {
  if (error instanceof Interrupted) process.exit(error.exitCode);
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
