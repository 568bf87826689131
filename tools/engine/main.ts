/** `npm run engine`: prints the path of the engine's `pulumi` and the line that puts it on PATH. */
import { Command, Option } from "commander";
import process from "node:process";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { preparePythonSdk } from "../sdk/python.ts";
import { exportLine } from "./environment.ts";
import { languages, prepareHosts, type Language } from "./languages.ts";
import { resolveEngine } from "./resolve.ts";

const command = new Command("npm run engine --")
  .description("Finds a Pulumi engine, or builds one, and prints the path of its pulumi.")
  .addOption(
    new Option("--languages <name...>", "also prepare these languages' hosts; for python, also the SDK")
      .choices(languages)
      .default([], "Node.js only"),
  );

await runTool(async () => {
  const { languages: wanted } = command.parse().opts<{ languages: Language[] }>();
  const signal = abortOnSignals();
  const engine = await resolveEngine(signal);
  await prepareHosts(engine, wanted, signal);
  if (wanted.includes("python")) await preparePythonSdk(engine, signal);
  console.log(engine.command);
  // Printed to stderr, because scripts read the path from stdout.
  console.error(exportLine(engine));
});
process.exit();
