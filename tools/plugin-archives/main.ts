/** `npm run plugin:pack`: archives of the resource plugin that need no Node. */
import { stat } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { writeArchive, writeSums, type Archive } from "./archives.ts";
import { PLATFORMS, type Platform } from "./platforms.ts";

const NAMES = Object.keys(PLATFORMS) as Platform[];

const command = new Command("npm run plugin:pack --")
  .description(
    "Writes the resource plugin for machines without Node: an archive for each platform, as the engine downloads it (pluginDownloadURL) or " +
      "pulumi plugin install --file reads it, and their SHA256SUMS. Node comes from the npm registry, about 50 MB for each platform, " +
      "with the integrity that is pinned here.",
  )
  .addOption(new Option("--platform <name...>", "only these").choices(NAMES).default(NAMES, "all"))
  .option(
    "--out <folder>",
    "where to write",
    fileURLToPath(new URL("../../plugin-archives", import.meta.url)),
  );

await runTool(async () => {
  const { platform, out } = command.parse().opts<{ platform: Platform[]; out: string }>();
  const options = { outFolder: out, signal: abortOnSignals() };
  const archives: Archive[] = [];
  for (const name of platform) {
    const node = PLATFORMS[name];
    const title = `Packing ${name}, with Node ${node.version} (${node.name})`;
    const archive = await withProgress(title, () => writeArchive(name, options));
    console.log(`${archive.path} ${((await stat(archive.path)).size / 1e6).toFixed(1)} MB`);
    archives.push(archive);
  }
  await writeSums(out, archives);
});
process.exit();
