import { chmod, copyFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withProgress } from "../lib/progress.mjs";
import { run } from "../lib/run.ts";
import { cacheEntry, fillEntry } from "./cache.ts";
import { findExecutable, pathFolders } from "./engine.ts";

/** A program that is built from a Go module. */
export interface GoTool {
  /** The folder with the module's go.mod and go.sum, and with the sources if they are ours. Ends with `/`. */
  module: URL;
  /** The import path of the program; `.` for the sources in the folder. */
  package: string;
  binary: string;
  /** The variable that holds the tool's version, and its value: `<import path>.<name>=<version>`. */
  version?: string;
  /** A script that must be beside the binary: the module that ships it, and its path in that module. */
  script?: { module: string; path: string };
}

/** The options of long-running work. */
export interface WorkOptions {
  /** Aborts on Ctrl-C; the work then ends its processes. */
  signal: AbortSignal;
  /** Shows the progress of the work. */
  update: (detail: string) => void;
}

export const MIN_GO = "1.26";

/** The files that determine the result of a build. */
export const sourcesOf = ({ module }: GoTool): URL[] =>
  readdirSync(module)
    .filter((name) => /^go\.(?:mod|sum)$|\.go$/.test(name))
    .toSorted()
    .map((name) => new URL(name, module));

/**
 * Builds the tools in `<folder>/bin`, with temporary files in `<folder>/tmp`. Throws if Go is missing, or older than
 * go.mod requires.
 */
export async function buildGoTools(
  tools: readonly GoTool[],
  folder: string,
  { signal, update }: WorkOptions,
): Promise<void> {
  const settings = { CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOWORK: "off", GOTMPDIR: join(folder, "tmp") };
  const env = { ...process.env, ...settings };
  if (findExecutable("go", pathFolders()) === undefined) throw new Error("there is no go on PATH");
  const count = { modules: 0, packages: 0 };
  const onLine = (line: string): void => {
    count[line.startsWith("go: ") ? "modules" : "packages"] += 1;
    update(`${count.modules} modules fetched, ${count.packages} packages compiled`);
  };
  for (const { module, package: name, binary, version, script } of tools) {
    const link = ["-s", "-w", ...(version ? ["-X", version] : [])].join(" ");
    const flags = ["-v", "-mod=readonly", "-trimpath", "-tags", "osusergo,grpcnotrace", "-ldflags", link];
    const options = { cwd: fileURLToPath(module), env, signal };
    await run("go", ["build", ...flags, "-o", join(folder, "bin", binary), name], { ...options, onLine });
    if (!script) continue;
    const source = await run("go", ["list", "-m", "-f", "{{.Dir}}", script.module], options);
    const target = join(folder, "bin", basename(script.path));
    await copyFile(join(source, script.path), target);
    await chmod(target, 0o755);
  }
}

/**
 * Returns the `bin` folder of the cache entry `name` with these tools. Builds them if they are missing, and
 * shows `title` (the work and its usual duration) and the progress on stderr.
 */
export async function resolveGoTools(
  { name, title, tools }: { name: string; title: string; tools: readonly GoTool[] },
  signal: AbortSignal,
): Promise<string> {
  const entry = await cacheEntry(name, tools.flatMap(sourcesOf));
  const build = (folder: string): Promise<void> =>
    withProgress(title, (update) => buildGoTools(tools, folder, { signal, update }));
  await fillEntry(entry, build, signal);
  return join(entry, "bin");
}
