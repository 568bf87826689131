import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { lockFile } from "../../dist/provider/lib/sqlite.js";

/**
 * Returns the folder for files made once per machine, outside the clone: `pulumi-apichat` in
 * `$XDG_CACHE_HOME` or `~/.cache`.
 */
export function cacheFolder(): string {
  const given = process.env.XDG_CACHE_HOME ?? "";
  return join(isAbsolute(given) ? given : join(homedir(), ".cache"), "pulumi-apichat");
}

/** Returns the cache folder for the result of building these files: `<name>/<hash of the files' contents>`. */
export async function cacheEntry(name: string, files: readonly URL[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file)).update("\0");
  return join(cacheFolder(), name, hash.digest("hex").slice(0, 16));
}

/**
 * Creates a cache entry if it is missing. `make` works in a folder beside the entry, with an empty `bin` and
 * `tmp`. If `make` succeeds, `tmp` is removed and the folder becomes the entry; if it fails, the folder is
 * removed. Other processes that need the entry wait.
 */
export async function fillEntry(
  entry: string,
  make: (folder: string) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  if (existsSync(entry)) return;
  await mkdir(dirname(entry), { recursive: true });
  await withLock(`${entry}.hold`, signal, async () => {
    if (existsSync(entry)) return;
    const folder = `${entry}.partial`;
    try {
      // A killed run may have left this folder behind.
      await rm(folder, { recursive: true, force: true });
      for (const part of ["bin", "tmp"]) await mkdir(join(folder, part), { recursive: true });
      await make(folder);
      await rm(join(folder, "tmp"), { recursive: true, force: true });
      await rename(folder, entry);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** Runs `work` while holding the lock file `path`, which the kernel releases if the process is killed. */
async function withLock(path: string, signal: AbortSignal | undefined, work: () => Promise<void>) {
  let lock = lockFile(path, 0);
  if (!lock) console.error(`Waiting for another process that is doing the same work (${path})`);
  while (!lock) {
    await delay(200, undefined, { signal }).catch(() => signal?.throwIfAborted());
    lock = lockFile(path, 0);
  }
  await work().finally(() => lock.release());
}
