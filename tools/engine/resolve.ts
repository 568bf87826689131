import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { withProgress } from "../setup/progress.mjs";
import { CommandError } from "../setup/processes.mjs";
import { goBuild } from "./build.ts";
import { cacheEntry, fillCache, readCache, type EngineRecord } from "./cache.ts";
import { findExecutable, hosts, readVersion, type Engine } from "./engine.ts";
import { findEngine } from "./find.ts";
import { officialInstaller } from "./install.ts";
import type { EngineMaker } from "./make.ts";

export interface ResolveOptions {
  /** Whose PATH, HOME, XDG_CACHE_HOME and PULUMI_APICHAT_ENGINE count. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Ends the work, with nothing left behind. */
  signal?: AbortSignal;
  /** How to get an engine that is not there, in this order. Default: Pulumi's installer, then a build with Go. */
  makers?: readonly EngineMaker[];
}

/** What one way to an engine said when it failed. */
interface Refusal {
  way: string;
  reason: string;
}

/**
 * A Pulumi engine: the user's own (`PULUMI_APICHAT_ENGINE`, PATH), else the cached one, else a new one for the cache,
 * with progress on stderr. Throws an error that says what each way came to if none works.
 */
export async function resolveEngine(options: ResolveOptions = {}): Promise<Engine> {
  const { env = process.env, signal = new AbortController().signal } = options;
  const refusals: Refusal[] = [];
  try {
    return await findEngine(env);
  } catch (error) {
    if (env.PULUMI_APICHAT_ENGINE)
      throw new Error(`PULUMI_APICHAT_ENGINE: ${reasonOf(error)}`, { cause: error });
    refusals.push({ way: "pulumi 3.216 or newer on PATH", reason: reasonOf(error) });
  }
  const entry = await cacheEntry(env);
  const cached = await readCache(entry);
  if (cached) return cached;
  return fillCache(entry, { signal, onWait: sayWaiting }, (folder) =>
    makeWithFirst(options.makers ?? [officialInstaller, goBuild], { folder, env, signal, refusals }),
  );
}

interface MakeOptions {
  folder: string;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  /** What the ways before these came to; grows by the makers that fail. */
  refusals: Refusal[];
}

async function makeWithFirst(makers: readonly EngineMaker[], options: MakeOptions): Promise<EngineRecord> {
  for (const maker of makers) {
    try {
      return await makeEngine(maker, options);
    } catch (error) {
      options.signal.throwIfAborted();
      const reason = reasonOf(error);
      console.error(`  that came to nothing: ${reason}`);
      options.refusals.push({ way: maker.name, reason });
    }
  }
  throw new Error(describeRefusals(options.refusals));
}

async function makeEngine(maker: EngineMaker, { folder, env, signal }: MakeOptions): Promise<EngineRecord> {
  const bin = join(folder, "bin");
  await rm(folder, { recursive: true, force: true });
  await mkdir(bin, { recursive: true });
  await withProgress(maker.title, (update) => maker.make(folder, { env, signal, update }));
  const missing = hosts.find((host) => findExecutable(host, [bin]) === undefined);
  if (missing) throw new Error(`it brought no ${missing}`);
  return { version: await readVersion(join(bin, "pulumi"), env), source: maker.source };
}

function sayWaiting(holder: string): void {
  console.error(`Waiting for the engine that another run (process ${holder}) is getting`);
}

function describeRefusals(refusals: readonly Refusal[]): string {
  return [
    "There is no Pulumi engine. The ways to one, and what each came to:",
    ...refusals.map(({ way, reason }, index) => `  ${index + 1}. ${way}: ${reason}`),
    "Hint one of them and run this again. The first is the quickest: https://www.pulumi.com/docs/install/",
  ].join("\n");
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof CommandError) || !error.output) return error.message;
  const lastLines = error.output.split("\n").slice(-5).join("\n     ");
  return `${error.message}:\n     ${lastLines}`;
}
