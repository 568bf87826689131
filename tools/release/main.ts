/** `npm run release:dry`: builds everything in a release into one folder. Publishes nothing. */
import { Command, Option } from "commander";
import { copyFile, mkdir, mkdtempDisposable, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { x as extract } from "tar";
import { BILL } from "../compile/bundled.ts";
import { clone } from "../lib/clone.ts";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, run, runTool } from "../lib/run.ts";
import { versionOf, writeArchive } from "./archives.ts";
import { PLATFORMS, type Platform } from "./platforms.ts";
import { SUMS, writeBill, writeNotes, writeSums } from "./papers.ts";
import { sdkLanguages } from "../sdk/generate.ts";
import { packSdks } from "./sdks.ts";
import { checkTag, parseRepository, stamp, type Repository } from "./stamp.ts";

const PARTS = ["npm", "plugins", ...sdkLanguages] as const;

interface Options {
  repository?: Repository;
  tag?: string;
  only: readonly (typeof PARTS)[number][];
  out: string;
}

const command = new Command("npm run release:dry --")
  .description(
    "Builds everything in a release, from the last commit: the npm package, " +
      "archives of the plugin with Node, SDKs, bills of materials, release notes, SHA256SUMS. " +
      "Two runs write the same bytes. Takes ten minutes the first time, then two.",
  )
  .option("--repository <name>", "OWNER/NAME on GitHub, for the packages' addresses", parseRepository)
  .option("--tag <tag>", "fail unless this tag matches the version and --repository is given")
  .addOption(new Option("--only <part...>", "build only these").choices(PARTS).default(PARTS, "all"))
  .option("--out <folder>", "the output folder; a release in it is replaced", join(clone, "release"));

await runTool(async () => {
  const { repository, tag, only, out } = command.parse().opts<Options>();
  const signal = abortOnSignals();
  const folder = resolve(out);
  const previous = await readRelease(folder);
  await using scratch = await mkdtempDisposable(join(tmpdir(), "apichat-release-"));
  // Uncommitted changes are not released.
  const source = join(scratch.path, "source");
  await run("git", ["clone", "--quiet", "--depth", "1", `file://${clone}`, source], { signal });
  if (tag !== undefined) checkTag(tag, await versionOf(source), repository);
  for (const name of previous) await rm(join(folder, name));
  // Marks the folder as a release, so that the next run accepts it even if this one is interrupted.
  await writeFile(join(folder, SUMS), "");
  const node = (title: string, ...args: string[]): Promise<string> =>
    withProgress(title, (update) =>
      run(process.execPath, args, { cwd: source, signal, onLine: (line) => update(line.slice(0, 70)) }),
    );
  if (repository === undefined) console.error("No --repository: packages will not contain a repository URL.");
  else await stamp(source, repository);
  await node("Installing and compiling: one to four minutes", "tools/setup.mjs");
  if (repository !== undefined) {
    await node("Writing the schemas: a few seconds", "tools/schema/generate.ts");
    await node("Compiling: a few seconds", "tools/setup.mjs");
  }
  if (only.includes("npm")) {
    await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: source, signal });
    await writeBill(source, folder);
    await writeNotes(source, folder);
  }
  if (only.includes("plugins")) {
    for (const platform of Object.keys(PLATFORMS) as Platform[]) {
      const { name, version } = PLATFORMS[platform];
      const title = `Packing the plugin for ${platform}, with Node ${version} (${name})`;
      const options = { source, outFolder: folder, signal };
      const archive = await withProgress(title, () => writeArchive(platform, options));
      // Keeps only the last archive's bill of materials, because the bills differ only in the version of Node.
      await extract({ file: archive, cwd: scratch.path }, [BILL]);
    }
    await copyFile(join(scratch.path, BILL), join(folder, "pulumi-resource-apichat.cdx.json"));
    await copyFile(join(source, "provider/plugin/schema.json"), join(folder, "schema.json"));
  }
  const languages = sdkLanguages.filter((language) => only.includes(language));
  if (languages.length > 0) await packSdks(source, folder, languages, { signal, repository });
  console.log(await writeSums(folder));
});
process.exit();

/** Creates the folder, and returns the files of the last release in it. Throws if it contains other files. */
async function readRelease(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  if (names.length === 0 || names.includes(SUMS)) return names;
  throw new Error(`--out: ${folder} contains other files; use an empty folder, or one with a release`);
}
