import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { withProgress } from "../lib/progress.mjs";
import { CommandError } from "../lib/run.ts";
import { cacheEntry, fillEntry } from "./cache.ts";
import { findEngine, inspectEngine, type Engine } from "./engine.ts";
import { makers, moduleFiles } from "./makers.ts";

/**
 * A Pulumi engine: the user's own (`PULUMI_APICHAT_ENGINE`, PATH), else the cached one, else a new one for the cache, with progress
 * on stderr. Throws an error that says why each way failed if none works. `signal` ends the work, with nothing left behind.
 */
export async function resolveEngine(signal: AbortSignal = new AbortController().signal): Promise<Engine> {
  let refusal: string;
  try {
    return await findEngine();
  } catch (error) {
    refusal = reasonOf(error);
    if (process.env.PULUMI_APICHAT_ENGINE) {
      throw new Error(`PULUMI_APICHAT_ENGINE: ${refusal}`, { cause: error });
    }
  }
  const entry = await cacheEntry("engine", moduleFiles);
  const first = `pulumi 3.216 or newer on PATH: ${refusal}`;
  await fillEntry(entry, (folder) => makeEngine(folder, first, signal), signal);
  return inspectEngine(join(entry, "bin", "pulumi"), "cache");
}

/** Makes an engine with the first of the makers that works. */
async function makeEngine(folder: string, first: string, signal: AbortSignal): Promise<void> {
  const bin = join(folder, "bin");
  const refusals = [first];
  for (const { name, title, make } of makers) {
    try {
      await withProgress(title, (update) => make(folder, { signal, update }));
      await inspectEngine(join(bin, "pulumi"), "cache");
      return;
    } catch (error) {
      signal.throwIfAborted();
      console.error(`  failed: ${reasonOf(error)}`);
      refusals.push(`${name}: ${reasonOf(error)}`);
      await rm(bin, { recursive: true, force: true });
      await mkdir(bin);
    }
  }
  throw new Error(
    [
      "There is no Pulumi engine. The ways to one, and why each failed:",
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
