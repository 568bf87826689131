/** `npm run sdk`: generates the SDKs; see its help. Exit code 1 if one of the languages failed. */
import { Command, Option } from "commander";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { resolveEngine } from "../engine/resolve.ts";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { checks } from "./check.ts";
import { generateSdk, sdkFolder, sdkLanguages, type SdkLanguage } from "./generate.ts";

const command = new Command("npm run sdk --")
  .description(
    "Generates the SDKs of the resource plugin, each into sdk/<language>, from provider/plugin/schema.json.",
  )
  .addOption(
    new Option("--language <name...>", "only these").choices(sdkLanguages).default(sdkLanguages, "all"),
  )
  .option("--check", "also build the SDKs and the examples");

await runTool(async () => {
  const { language: wanted, check } = command.parse().opts<{ language: SdkLanguage[]; check?: true }>();
  const signal = abortOnSignals();
  const engine = await resolveEngine(signal);
  let failures = 0;
  for (const language of wanted) {
    try {
      await generateSdk(language, { engine, signal });
      console.log(`${language}: generated in sdk/${language}`);
      if (check) await checkSdk(language, signal);
    } catch (error) {
      signal.throwIfAborted();
      failures += 1;
      console.error(`${language}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures === 0 ? 0 : 1;
});
process.exit();

async function checkSdk(language: SdkLanguage, signal: AbortSignal): Promise<void> {
  const { title, run } = checks[language];
  await withProgress(title, (update) => run({ signal, onLine: (line) => update(line.slice(0, 70)) }));
  // Tests that need a compiled SDK look for this file. Regenerating the SDK removes the file.
  await writeFile(join(sdkFolder, language, ".checked"), "");
}
