import { chmod, copyFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withLock } from "../setup/lock.mjs";
import { withProgress } from "../setup/progress.mjs";
import { run } from "../setup/run.mjs";
import { cacheEntry, fillEntry } from "./cache.ts";
import { compareVersions, findExecutable, pathFolders } from "./engine.ts";

/** A program that is built from a Go module. */
export interface GoTool {
  /** The folder with its go.mod and go.sum, and its sources if they are ours. Ends with `/`. */
  module: URL;
  /** The import path of what is built; `.` for the sources in the folder. */
  package: string;
  binary: string;
  /** The variable that holds the tool's version, and its value: `<import path>.<name>=<version>`. */
  version?: string;
  /** A script that has to lie beside the binary: the module that ships it, and the path in there. */
  script?: { module: string; path: string };
}

export interface BuildContext {
  env: NodeJS.ProcessEnv;
  /** Aborts on Ctrl-C; the build ends its processes then. */
  signal: AbortSignal;
  /** Shows how far the work is. */
  update: (detail: string) => void;
}

export const oldestGo = "1.26";

/** The files that decide what is built. */
export const sourcesOf = ({ module }: GoTool): URL[] =>
  readdirSync(module)
    .filter((name) => /^go\.(?:mod|sum)$|\.go$/.test(name))
    .toSorted()
    .map((name) => new URL(name, module));

/** Builds the tools into `<folder>/bin`, with temporary files in `<folder>/tmp`. Throws if there is no Go, or one that is too old. */
export async function buildGoTools(
  tools: readonly GoTool[],
  folder: string,
  { env: base, signal, update }: BuildContext,
): Promise<void> {
  const env = {
    ...base,
    CGO_ENABLED: "0",
    GOTOOLCHAIN: "local",
    GOWORK: "off",
    GOTMPDIR: join(folder, "tmp"),
  };
  await checkGo(env, signal);
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

export interface GoToolsOptions {
  /** The folder of the entry in the tools' cache. */
  name: string;
  /** Shown while they are built: what is done, and how long that takes. */
  title: string;
  tools: readonly GoTool[];
  /** Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Ends the work, with nothing left behind. */
  signal?: AbortSignal;
}

/** The `bin` folder with these tools in the tools' cache. Builds them if they are not there, with progress on stderr. */
export async function resolveGoTools({
  name,
  title,
  tools,
  env = process.env,
  signal = new AbortController().signal,
}: GoToolsOptions): Promise<string> {
  const entry = await cacheEntry(env, name, tools.flatMap(sourcesOf));
  const bin = join(entry, "bin");
  const isThere = (): boolean => tools.every(({ binary }) => findExecutable(binary, [bin]) !== undefined);
  const build = async (): Promise<void> => {
    if (isThere()) return;
    await fillEntry(entry, (folder) =>
      withProgress(title, (update) => buildGoTools(tools, folder, { env, signal, update })),
    );
  };
  if (!isThere()) await withLock(`${entry}.lock`, signal, build);
  return bin;
}

async function checkGo(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  if (findExecutable("go", pathFolders(env)) === undefined) throw new Error("there is no go on PATH");
  const output = await run("go", ["version"], { env, signal });
  const version = /\bgo(\d+\.\d+\S*)/.exec(output)?.[1];
  if (version === undefined || compareVersions(version, oldestGo) < 0) {
    throw new Error(`the go on PATH is ${version ?? output}; ${oldestGo} or newer is needed`);
  }
}
