import { join } from "node:path";
import process from "node:process";
import { withLock } from "../setup/lock.mjs";
import { withProgress } from "../setup/progress.mjs";
import { CommandError } from "../setup/run.mjs";
import { cacheEntry, fillEntry } from "./cache.ts";
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
    await makeEngine(entry, { env, signal, makers, refusals });
  };
  if (!findExecutable("pulumi", [bin])) await withLock(`${entry}.lock`, signal, fill);
  return inspectEngine(join(bin, "pulumi"), "cache", env);
}

interface MakeOptions extends Required<ResolveOptions> {
  /** What the ways before these came to. */
  refusals: string[];
}

/** Makes an engine with the first of the makers that works. */
async function makeEngine(entry: string, { env, signal, makers, refusals }: MakeOptions): Promise<void> {
  for (const { name, title, make } of makers) {
    try {
      return await fillEntry(entry, async (folder) => {
        await withProgress(title, (update) => make(folder, { env, signal, update }));
        await inspectEngine(join(folder, "bin", "pulumi"), "cache", env);
      });
    } catch (error) {
      signal.throwIfAborted();
      console.error(`  failed: ${reasonOf(error)}`);
      refusals.push(`${name}: ${reasonOf(error)}`);
    }
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
