import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, resolve } from "node:path";
import { VERSION } from "../../lib/version.js";

/**
 * What a program's package.json names this package by: the clone that runs, the tarball or folder that it was installed from,
 * else the version as the registry has it.
 */
export async function packageSource(): Promise<string> {
  const own = dirname(createRequire(import.meta.url).resolve("pulumi-apichat/package.json"));
  const modules = dirname(own);
  if (basename(modules) !== "node_modules") return `file:${own}`;
  const above = dirname(modules);
  // Without one, pnpm has put it there.
  const manifest = await readFile(resolve(above, "package.json"), "utf8").catch(() => "{}");
  const { dependencies, devDependencies } = JSON.parse(manifest) as Record<string, Record<string, string>>;
  const given = { ...devDependencies, ...dependencies }["pulumi-apichat"];
  return given?.startsWith("file:") ? `file:${resolve(above, given.slice("file:".length))}` : `^${VERSION}`;
}
