/** `npm run plugin:pack`: archives of the resource plugin that need no Node. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { writeArchive, writeSums, type Archive, type ArchiveOptions } from "./archives.ts";
import { NoSuchPackage } from "./node-package.ts";
import { PLATFORMS, platforms, type Platform } from "./platforms.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const usage = `npm run plugin:pack -- [--platform NAME ...] [--out FOLDER]

Writes the resource plugin for programs on machines without Node: one archive for each platform, as the engine
downloads it (pluginDownloadURL) or pulumi plugin install --file takes it, and SHA256SUMS of these. Node's binaries
come from the npm registry once, about 50 MB each, and must have the integrity that is pinned here.

  --platform NAME  only this one: ${platforms.join(", ")}
  --out FOLDER     default: plugin-archives
  --help           print this`;

await runTool(async () => {
  const { values } = parseArgs({
    options: {
      platform: { type: "string", multiple: true },
      out: { type: "string", default: join(root, "plugin-archives") },
      help: { type: "boolean" },
    },
  });
  if (values.help) return console.log(usage);
  const options = { outFolder: values.out, signal: abortOnSignals() };
  const wanted = parsePlatforms(values.platform);
  const archives: Archive[] = [];
  for (const platform of wanted ?? platforms) {
    try {
      archives.push(await packFor(platform, options));
    } catch (error) {
      // Of those that nobody asked for by name.
      if (wanted || !(error instanceof NoSuchPackage)) throw error;
      console.error(`skipped ${platform}: ${error.message}`);
    }
  }
  await writeSums(values.out, archives);
});
process.exit();

function parsePlatforms(names: readonly string[] | undefined): Platform[] | undefined {
  const unknown = names?.find((name) => !(name in PLATFORMS));
  if (unknown === undefined) return names as Platform[] | undefined;
  throw new Error(`--platform: "${unknown}" is not one of ${platforms.join(", ")}`);
}

async function packFor(platform: Platform, options: ArchiveOptions): Promise<Archive> {
  const { name, version } = PLATFORMS[platform];
  const title = `Packing ${platform}, with Node ${version} (${name})`;
  const archive = await withProgress(title, () => writeArchive(platform, options));
  console.log(`${archive.path} ${((await stat(archive.path)).size / 1e6).toFixed(1)} MB`);
  return archive;
}
