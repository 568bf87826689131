/** `npm run release:dry`: everything that a release contains, in one folder. Publishes nothing. */
import { Command } from "commander";
import { mkdir, mkdtempDisposable, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, run, runTool } from "../lib/run.ts";
import { writeBill, writeNotes } from "./papers.ts";
import { packSdks } from "./sdks.ts";
import { parseRepository, stamp } from "./stamp.ts";
import { describeFiles, writeSums } from "./sums.ts";

const clone = fileURLToPath(new URL("../..", import.meta.url));

const command = new Command("npm run release:dry --")
  .description(
    "Builds everything that a release contains from the last commit: npm package, plugin archives, SDKs, bills of materials, release notes, SHA256SUMS. " +
      "Two runs write the same bytes. Ten minutes the first time.",
  )
  .option(
    "--repository <name>",
    "OWNER/NAME on GitHub: is written into package.json, schema and Go module",
    parseRepository,
  )
  .option("--out <folder>", "where to write; is emptied first", join(clone, "release"));

await runTool(async () => {
  const { out, repository } = command
    .parse()
    .opts<{ out: string; repository?: ReturnType<typeof parseRepository> }>();
  const signal = abortOnSignals();
  const folder = resolve(out);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await using scratch = await mkdtempDisposable(join(tmpdir(), "apichat-release-"));
  // What is not committed is not released.
  const source = join(scratch.path, "source");
  await run("git", ["clone", "--quiet", "--depth", "1", `file://${clone}`, source], { signal });
  if (repository === undefined)
    console.error("No --repository: the packages name none. A release is refused without one.");
  else await stamp(source, repository);
  const node = (title: string, ...args: string[]): Promise<string> =>
    withProgress(title, (update) =>
      run(process.execPath, args, { cwd: source, signal, onLine: (line) => update(line.slice(0, 70)) }),
    );
  await node("Installing and compiling: one to four minutes", "tools/setup.mjs");
  if (repository !== undefined) {
    await node("Writing the schemas: some seconds", "tools/schema/generate.ts");
    await node("Compiling: some seconds", "tools/setup.mjs");
  }
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: source, signal });
  await node("Packing the plugin: half a minute", "tools/plugin-archives/main.ts", "--out", folder);
  await packSdks(source, folder, { signal, owner: repository?.split("/")[0] });
  await writeBill(source, folder, signal);
  await writeNotes(source, folder);
  await writeSums(folder);
  console.log(await describeFiles(folder));
});
process.exit();
