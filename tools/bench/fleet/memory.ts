import { readFile } from "node:fs/promises";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { findProcesses } from "../../start/leftovers.ts";

const SAMPLE_EVERY_MS = 1_000;

export interface Watched<Result> {
  result: Result;
  /** The most that all processes held at one moment, in bytes. Undefined where there is no /proc to read it from. */
  peakBytes: number | undefined;
}

/**
 * Does `work`, and finds how much memory the processes that carry this setting, `NAME=value`, in their environment hold
 * together at most. What they share counts once: it is the sum of their proportional shares (PSS).
 */
export async function watchMemory<Result>(
  setting: string,
  work: () => Promise<Result>,
): Promise<Watched<Result>> {
  if (process.platform !== "linux") return { result: await work(), peakBytes: undefined };
  const finished = new AbortController();
  const sampling = samplePeak(setting, finished.signal);
  try {
    const result = await work();
    finished.abort();
    return { result, peakBytes: await sampling };
  } finally {
    finished.abort();
    await sampling;
  }
}

async function samplePeak(setting: string, finished: AbortSignal): Promise<number> {
  let peak = 0;
  while (!finished.aborted) {
    peak = Math.max(peak, await sumMemory(setting));
    // It rejects when the work is finished, which the loop sees by itself.
    await delay(SAMPLE_EVERY_MS, undefined, { signal: finished }).catch(() => undefined);
  }
  return peak;
}

async function sumMemory(setting: string): Promise<number> {
  const sizes = await Promise.all((await findProcesses(setting)).map(readMemory));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** 0 for a process that has ended in the meantime. */
async function readMemory(id: number): Promise<number> {
  const read = (file: string): Promise<string> => readFile(`/proc/${id}/${file}`, "utf8").catch(() => "");
  const share = readKibibytes(await read("smaps_rollup"), "Pss");
  // Some sandboxes have no such file; there, what processes share counts for each of them.
  return 1024 * (share ?? readKibibytes(await read("status"), "VmRSS") ?? 0);
}

function readKibibytes(text: string, name: string): number | undefined {
  const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes);
}
