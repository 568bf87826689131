import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import { withLock } from "../setup/lock.mjs";
import { withProgress } from "../setup/progress.mjs";
import { CommandError } from "../setup/run.mjs";
import { findEngine, findExecutable, inspectEngine, type Engine } from "./engine.ts";
import { goBuild, moduleFiles, officialInstaller, type EngineMaker } from "./makers.ts";

interface ResolveOptions {
  /** Whose PATH, HOME, XDG_CACHE_HOME and PULUMI_APICHAT_ENGINE count. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Ends the work, with nothing left behind. */
  signal?: AbortSignal;
  /** How to get an engine that is not there, in this order. Default: Pulumi's installer, then a build with Go. */
  makers?: readonly EngineMaker[];
}

/**
 * A Pulumi engine: the user's own (`PULUMI_APICHAT_ENGINE`, PATH), else the cached one, else a new one for the cache,
 * with progress on stderr. Throws an error that says what each way came to if none works.
 */
export async function resolveEngine({
  env = process.env,
  signal = new AbortController().signal,
  makers = [officialInstaller, goBuild],
}: ResolveOptions = {}): Promise<Engine> {
  let refusal: string;
  try {
    return await findEngine(env);
  } catch (error) {
    refusal = reasonOf(error);
    if (env.PULUMI_APICHAT_ENGINE) throw new Error(`PULUMI_APICHAT_ENGINE: ${refusal}`, { cause: error });
  }
  const entry = await cacheEntry(env, "engine", moduleFiles);
  const bin = join(entry, "bin");
  const fill = async (): Promise<void> => {
    if (findExecutable("pulumi", [bin])) return;
    const refusals = [`pulumi 3.216 or newer on PATH: ${refusal}`];
    await fillEntry(entry, { env, signal, makers, refusals });
  };
  if (!findExecutable("pulumi", [bin])) await withLock(`${entry}.lock`, signal, fill);
  return inspectEngine(join(bin, "pulumi"), "cache", env);
}

interface FillOptions extends Required<ResolveOptions> {
  /** What the ways before these came to. */
  refusals: string[];
}

/** Makes an engine in a folder beside the entry, which becomes the entry when it is whole. */
async function fillEntry(entry: string, { env, signal, makers, refusals }: FillOptions): Promise<void> {
  const folder = `${entry}.partial`;
  try {
    for (const { name, title, make } of makers) {
      // It may be what a killed run left behind.
      await rm(folder, { recursive: true, force: true });
      for (const part of ["bin", "tmp"]) await mkdir(join(folder, part), { recursive: true });
      try {
        await withProgress(title, (update) => make(folder, { env, signal, update }));
        await inspectEngine(join(folder, "bin", "pulumi"), "cache", env);
        await rm(join(folder, "tmp"), { recursive: true, force: true });
        await rm(entry, { recursive: true, force: true });
        await rename(folder, entry);
        return;
      } catch (error) {
        signal.throwIfAborted();
        console.error(`  that came to nothing: ${reasonOf(error)}`);
        refusals.push(`${name}: ${reasonOf(error)}`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  throw new Error(
    [
      "There is no Pulumi engine. The ways to one, and what each came to:",
      ...refusals.map((refusal, index) => `  ${index + 1}. ${refusal}`),
      "Open one of these ways and run this again. The first is the quickest: https://www.pulumi.com/docs/install/",
    ].join("\n"),
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof CommandError) || !error.output) return error.message;
  return [`${error.reason}:`, ...error.output.split("\n").slice(-5)].join("\n     ");
}

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
