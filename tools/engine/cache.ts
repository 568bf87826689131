import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
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
