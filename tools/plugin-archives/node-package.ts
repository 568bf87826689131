import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError, run } from "../setup/run.mjs";
import { isWindows, PLATFORMS, type Platform } from "./platforms.ts";

const cache = fileURLToPath(new URL("../../node_modules/.cache/plugin-archives", import.meta.url));

/** The registry has no such package, or no such version of it. */
export class NoSuchPackage extends Error {}

export interface NodeFiles {
  /** The binary. */
  binary: string;
  licence: string;
}

/** Node for a platform, which npm downloads and checks once. Throws `NoSuchPackage` if the registry has none. */
export async function fetchNode(platform: Platform, signal: AbortSignal): Promise<NodeFiles> {
  const { name, version } = PLATFORMS[platform];
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(folder)) await download(`${name}@${version}`, folder, signal);
  const binary = join(folder, "bin", isWindows(platform) ? "node.exe" : "node");
  const licence = join(folder, "LICENSE");
  if (existsSync(licence)) return { binary, licence };
  // The packages for Windows hold none. It is the same for all.
  return { binary, licence: (await fetchNode("linux-amd64", signal)).licence };
}

async function download(what: string, folder: string, signal: AbortSignal): Promise<void> {
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, "partial-"));
  try {
    // The one that this machine runs on is in npm's own cache.
    await run("npm", ["pack", "--prefer-offline", "--loglevel=error", what], { cwd: scratch, signal });
    const [archive = ""] = await readdir(scratch);
    await run("tar", ["-xzf", archive], { cwd: scratch, signal });
    await rename(join(scratch, "package"), folder).catch(ignoreIfThere(folder));
  } catch (error) {
    const isMissing = error instanceof CommandError && /\b(?:E404|ETARGET)\b/.test(error.output);
    throw isMissing ? new NoSuchPackage(`the npm registry has no ${what}`) : error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Another run has put it there meanwhile. */
const ignoreIfThere = (folder: string) => (error: unknown) => {
  if (!existsSync(folder)) throw error;
};
