/** `npm run engine`: prints the path of the engine's `pulumi` and the line that puts it on PATH. */
import process from "node:process";
import { parseArgs } from "node:util";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { exportLine } from "./environment.ts";
import { languages, parseLanguages, prepareHosts } from "./languages.ts";
import { preparePythonSdk } from "../sdk/python.ts";
import { resolveEngine } from "./resolve.ts";

const usage = `npm run engine -- [--languages LIST] [--json]

Finds a Pulumi engine, or builds one, and prints the path of its pulumi.

  --languages LIST  also the hosts of these languages beside Node.js: ${languages.join(", ")}, with commas between them, or all;
                    python brings an environment with the SDK, for the tests
  --json            print all that is known of the engine
  --help            print this`;

const { values } = parseArgs({
  options: { languages: { type: "string" }, json: { type: "boolean" }, help: { type: "boolean" } },
});

await runTool(async () => {
  if (values.help) return console.log(usage);
  const wanted = parseLanguages(values.languages ?? "");
  const signal = abortOnSignals();
  const engine = await resolveEngine(signal);
  await prepareHosts(engine, wanted, signal);
  if (wanted.includes("python")) await preparePythonSdk(engine, signal);
  console.log(values.json ? JSON.stringify(engine) : engine.command);
  // On stderr, because scripts read the path from stdout.
  console.error(exportLine(engine));
});
process.exit();
