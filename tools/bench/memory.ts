import { readFile } from "node:fs/promises";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { processesOf } from "../../test/support/processes.ts";

const SAMPLE_EVERY_MS = 1_000;

/**
 * Does `work`, and finds how many bytes the processes that have this variable in their environment hold
 * together at most. What they share counts once: it is the sum of their proportional shares (PSS). Undefined where
 * there is no /proc to read it from.
 */
export async function watchMemory<Result>(
  variable: { name: string; value: string },
  work: () => Promise<Result>,
): Promise<{ result: Result; peakBytes: number | undefined }> {
  const finished = new AbortController();
  const sampling = samplePeak(variable, finished.signal);
  try {
    const result = await work();
    finished.abort();
    return { result, peakBytes: process.platform === "linux" ? await sampling : undefined };
  } finally {
    finished.abort();
    await sampling;
  }
}

async function samplePeak(variable: { name: string; value: string }, finished: AbortSignal): Promise<number> {
  let peak = 0;
  while (!finished.aborted) {
    const sizes = await Promise.all((await processesOf(variable)).map(readMemory));
    peak = Math.max(
      peak,
      sizes.reduce((sum, bytes) => sum + bytes, 0),
    );
    // It rejects when the work is finished, which the loop sees by itself.
    await delay(SAMPLE_EVERY_MS, undefined, { signal: finished }).catch(() => undefined);
  }
  return peak;
}

/** 0 for a process that has ended in the meantime. */
async function readMemory({ pid }: { pid: number }): Promise<number> {
  const read = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  // Some sandboxes have no smaps_rollup; there, what processes share counts for each of them.
  const text = `${await read("smaps_rollup")}\n${await read("status")}`;
  const [, kibibytes = 0] = /^Pss:\s+(\d+) kB$/m.exec(text) ?? /^VmRSS:\s+(\d+) kB$/m.exec(text) ?? [];
  return 1024 * Number(kibibytes);
}
