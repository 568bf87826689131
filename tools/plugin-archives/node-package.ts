import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError, run } from "../lib/run.ts";
import type { NodePackage } from "./platforms.ts";

/** The registry has no such package, or no such version of it. */
export class NoSuchPackage extends Error {}

export interface UnpackOptions {
  signal: AbortSignal;
  /** Where downloads stay for the next run. Default: in `node_modules`. */
  cache?: string;
  /** The environment of npm. Default: the one of this process. */
  env?: NodeJS.ProcessEnv;
}

const CACHE = fileURLToPath(new URL("../../node_modules/.cache/plugin-archives", import.meta.url));

/**
 * Unpacks a package into a new folder inside `parent`, and returns that. Takes it from the cache or from the npm registry, and compares
 * it with its pinned integrity each time: anything could have been put into the cache. Throws `NoSuchPackage`.
 */
export async function unpackNode(
  wanted: NodePackage,
  parent: string,
  { signal, cache = CACHE, env = process.env }: UnpackOptions,
): Promise<string> {
  const cached = join(cache, `${wanted.name}-${wanted.version}.tgz`);
  const kept = existsSync(cached) ? await readFile(cached) : undefined;
  const archive =
    kept !== undefined && isPinned(kept, wanted) ? kept : await download(wanted, cached, { signal, env });
  const folder = await mkdtemp(join(parent, "node-"));
  // A copy of what was checked: nobody else writes to this folder.
  await writeFile(join(folder, "package.tgz"), archive);
  await run("tar", ["-xzf", "package.tgz"], { cwd: folder, signal });
  return join(folder, "package");
}

const integrityOf = (content: Uint8Array): string =>
  `sha512-${createHash("sha512").update(content).digest("base64")}`;

const isPinned = (content: Uint8Array, { integrity }: NodePackage): boolean =>
  integrityOf(content) === integrity;

/** Downloads a package into the cache, and returns its bytes. Keeps nothing that differs from the pinned integrity. */
async function download(
  wanted: NodePackage,
  cached: string,
  options: { signal: AbortSignal; env: NodeJS.ProcessEnv },
): Promise<Uint8Array> {
  const what = `${wanted.name}@${wanted.version}`;
  const cache = join(cached, "..");
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, "partial-"));
  try {
    // The one that this machine runs on is in npm's own cache.
    await run("npm", ["pack", "--prefer-offline", "--loglevel=error", what], { cwd: scratch, ...options });
    const [name = ""] = await readdir(scratch);
    const content = await readFile(join(scratch, name));
    if (!isPinned(content, wanted)) throw new Error(describeMismatch(what, wanted, integrityOf(content)));
    await rename(join(scratch, name), cached);
    return content;
  } catch (error) {
    const isMissing = error instanceof CommandError && /\b(?:E404|ETARGET)\b/.test(error.output);
    throw isMissing ? new NoSuchPackage(`the npm registry has no ${what}`) : error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const describeMismatch = (what: string, { integrity }: NodePackage, found: string): string =>
  `the npm registry's ${what} has the integrity ${found}, and tools/plugin-archives/platforms.ts pins ${integrity}. ` +
  `If you have changed the version, compare it with what another machine prints for: npm view ${what} dist.integrity`;
