import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where the tools keep what is made once per machine, outside the clone: `pulumi-apichat` in `$XDG_CACHE_HOME` or `~/.cache`. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const given = env.XDG_CACHE_HOME ?? "";
  return join(isAbsolute(given) ? given : join(env.HOME ?? homedir(), ".cache"), "pulumi-apichat");
}

/** A folder in the tools' cache for what is made from these files: `<name>/<hash of their contents>`. */
export async function cacheEntry(
  env: NodeJS.ProcessEnv,
  name: string,
  files: readonly URL[],
): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file)).update("\0");
  return join(cacheFolder(env), name, hash.digest("hex").slice(0, 16));
}

/**
 * Makes a cache entry: `make` works in a folder beside it that holds only an empty `bin` and `tmp`. The folder becomes the
 * entry when `make` is through, without `tmp`; if it fails, nothing is left. Call it under the lock `<entry>.lock`.
 */
export async function fillEntry(entry: string, make: (folder: string) => Promise<void>): Promise<void> {
  const folder = `${entry}.partial`;
  try {
    // It may be what a killed run left behind.
    await rm(folder, { recursive: true, force: true });
    for (const part of ["bin", "tmp"]) await mkdir(join(folder, part), { recursive: true });
    await make(folder);
    await rm(join(folder, "tmp"), { recursive: true, force: true });
    await rm(entry, { recursive: true, force: true });
    await rename(folder, entry);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
