import { createHash, randomUUID } from "node:crypto";
import { access, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { withLock } from "../setup/lock.mjs";
import { moduleFiles } from "./build.ts";
import type { Engine } from "./engine.ts";

const recordName = "engine.json";

/** What is recorded of an engine in the cache. */
export type EngineRecord = Pick<Engine, "version" | "source">;

/** Where the tools keep what is made once per machine, outside the clone: `pulumi-apichat` in `$XDG_CACHE_HOME` or `~/.cache`. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const given = env.XDG_CACHE_HOME ?? "";
  return join(isAbsolute(given) ? given : join(env.HOME ?? homedir(), ".cache"), "pulumi-apichat");
}

/** Where the engine of these module files is cached: `engine/<hash>` in the tools' cache. */
export async function cacheEntry(
  env: NodeJS.ProcessEnv,
  files: readonly URL[] = moduleFiles,
): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file)).update("\0");
  return join(cacheFolder(env), "engine", hash.digest("hex").slice(0, 16));
}

/** The engine in a cache entry, or undefined if there is none. */
export async function readCache(entry: string): Promise<Engine | undefined> {
  const directory = join(entry, "bin");
  const command = join(directory, "pulumi");
  try {
    await access(command);
    const record: EngineRecord = JSON.parse(await readFile(join(entry, recordName), "utf8"));
    return { command, directory, ...record };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

export interface FillOptions {
  signal: AbortSignal;
  /** Called if another run is filling the entry. */
  onWait: (holder: string) => void;
}

/**
 * The engine in the entry; if there is none, `fill` puts one into a new folder, which becomes the entry when it is
 * whole. Of several runs at once one fills and the others wait for it. What a killed run left behind is removed.
 */
export async function fillCache(
  entry: string,
  options: FillOptions,
  fill: (folder: string) => Promise<EngineRecord>,
): Promise<Engine> {
  return withLock(`${entry}.lock`, options, async () => {
    const cached = await readCache(entry);
    if (cached) return cached;
    await removeLeftovers(entry);
    const folder = `${entry}.partial-${randomUUID()}`;
    try {
      const record = await fill(folder);
      await rm(join(folder, "tmp"), { recursive: true, force: true });
      await writeFile(join(folder, recordName), JSON.stringify(record));
      await rename(folder, entry);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    const engine = await readCache(entry);
    if (!engine) throw new Error(`the engine that was put into ${entry} is gone`);
    return engine;
  });
}

/** Also removes an entry that is not whole: only a hand can have made it so. */
async function removeLeftovers(entry: string): Promise<void> {
  const parent = dirname(entry);
  const names = (await readdir(parent)).map((name) => join(parent, name));
  for (const path of names.filter((name) => name === entry || name.startsWith(`${entry}.partial-`))) {
    await rm(path, { recursive: true, force: true });
  }
}
