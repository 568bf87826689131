import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { cacheFolder, fillEntry } from "../engine/cache.ts";
import { withLock } from "../setup/lock.mjs";
import { run } from "../lib/run.ts";

/** The newest version of a line such as `22`, as the npm registry has it; a whole version is itself. */
export async function newestOf(line: string, signal: AbortSignal): Promise<string> {
  const printed = await run("npm", ["view", `node@${line}`, "version", "--json", "--loglevel=error"], {
    signal,
  });
  const [newest] = [JSON.parse(printed) as string | string[]].flat().toSorted(byVersion).slice(-1);
  if (newest === undefined) throw new Error(`the npm registry has no node@${line}`);
  return newest;
}

const byVersion = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

/** Installs a version of Node once per machine, outside the clone; gives the folder that goes first on PATH. */
export async function installNode(version: string, signal: AbortSignal): Promise<string> {
  const entry = join(cacheFolder(process.env), "node", version);
  const binaries = join(entry, "node_modules", "node", "bin");
  await mkdir(join(entry, ".."), { recursive: true });
  await withLock(`${entry}.lock`, signal, async () => {
    if (existsSync(binaries)) return;
    await fillEntry(entry, async (cwd) => {
      // The package's install script fetches the binary of this platform.
      const project = { private: true, allowScripts: { node: true } };
      await writeFile(join(cwd, "package.json"), JSON.stringify(project));
      const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts=false", `node@${version}`];
      await run("npm", args, { cwd, signal });
    });
  });
  return binaries;
}
