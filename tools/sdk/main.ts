/** `npm run sdk`: see its usage. Exit code 1 if one of the languages failed. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { parseLanguages } from "../engine/languages.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { checks } from "./check.ts";
import { generateSdk, sdkFolder, sdkLanguages, sdks, type SdkLanguage } from "./generate.ts";

const usage = `npm run sdk -- [--language LIST] [--check]

Generates the SDKs of the resource plugin, each into sdk/<language>, from provider/plugin/schema.json.

  --language LIST  only these: ${sdkLanguages.join(", ")}, with commas between them; default: all
  --check          build them too, and the examples with them; a wheel is in sdk/python/dist then, and a tarball in
                   sdk/nodejs/dist. The one for .NET is generated and not compiled
  --help           print this`;

const options = {
  language: { type: "string" },
  check: { type: "boolean" },
  help: { type: "boolean" },
} as const;

await runTool(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  const wanted = parseLanguages("--language", values.language ?? "all", sdkLanguages);
  const signal = abortOnSignals();
  const engine = await resolveEngine(signal);
  let failures = 0;
  for (const language of wanted) {
    try {
      await generateSdk(language, { engine, signal });
      console.log(`${sdks[language].title}: generated in sdk/${language}`);
      if (values.check) await checkSdk(language, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The others may do.
      failures += 1;
      console.error(`${sdks[language].title}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures === 0 ? 0 : 1;
});
process.exit();

async function checkSdk(language: SdkLanguage, signal: AbortSignal): Promise<void> {
  if (language === "dotnet") return console.log(`${sdks[language].title}: not compiled here`);
  const { title, run } = checks[language];
  const seen = await withProgress(title, (update) =>
    run({ signal, onLine: (line) => update(line.slice(0, 70)) }),
  );
  // Tests that need a compiled SDK go by this file. It goes with the SDK.
  await writeFile(join(sdkFolder, language, ".checked"), "");
  console.log(`${sdks[language].title}: ${seen}`);
}
