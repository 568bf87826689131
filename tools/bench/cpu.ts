import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { processesOf } from "../../test/support/processes.ts";

const SAMPLE_EVERY_MS = 100;
/** What /proc counts in: hundredths of a second, on every Linux. */
const TICK_MS = 10;

/** What a process has computed so far, in milliseconds: user and system. 0 if it has ended, or there is no /proc. */
export async function readCpu(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // Behind the name of the program, which may hold spaces.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return TICK_MS * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
}

/**
 * Does `work`, and finds what the processes that have this variable in their environment compute meanwhile, the engine itself
 * left out, in milliseconds. What a process does after the last look at it is missing.
 */
export async function watchCpu(
  variable: { name: string; value: string },
  work: () => Promise<unknown>,
): Promise<number> {
  const finished = new AbortController();
  const sampling = sampleCpu(variable, finished.signal);
  try {
    await work();
  } finally {
    finished.abort();
  }
  return sampling;
}

async function sampleCpu(variable: { name: string; value: string }, finished: AbortSignal): Promise<number> {
  const used = new Map<number, number>();
  while (!finished.aborted) {
    for (const { pid, commandLine } of await processesOf(variable)) {
      const isEngine = basename(commandLine[0] ?? "") === "pulumi";
      used.set(pid, isEngine ? 0 : await readCpu(pid));
    }
    await delay(SAMPLE_EVERY_MS, undefined, { signal: finished }).catch(() => undefined);
  }
  return [...used.values()].reduce((sum, cpuMs) => sum + cpuMs, 0);
}
