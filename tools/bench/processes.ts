/** Measures processes: time, CPU, memory. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { clone } from "../lib/clone.ts";
import { processesOf } from "../lib/processes.ts";
import { run } from "../lib/run.ts";
import { alternate, timeOf, type Context, type Samples } from "./measure.ts";

/** Compares the time of Node with two lists of arguments, in milliseconds. */
export const compareNode =
  (ours: string[], bare: string[]) =>
  (context: Context): Promise<Samples> => {
    const timeNode = (args: string[]) => () =>
      timeOf(() => run(process.execPath, args, { cwd: clone, signal: context.signal }));
    return alternate(context, { ours: timeNode(ours), bare: timeNode(bare) }, { rounds: 25, warmUp: 2 });
  };

/** The resources that a project's processes used during one piece of work. */
interface Usage {
  milliseconds: number;
  /** The CPU time of all processes except the engine, up to the last sample of each. */
  cpuMs: number;
  /** The peak of the sum of their proportional set sizes; 0 without /proc. */
  peakBytes: number;
}

/** Runs `work`, and samples the processes with this variable in their environment. */
export async function watch(
  variable: { name: string; value: string },
  work: () => Promise<unknown>,
  { everyMs = 1000 } = {},
): Promise<Usage> {
  const finished = new AbortController();
  const cpu = new Map<number, number>();
  let peakBytes = 0;
  const sample = async (): Promise<void> => {
    while (!finished.signal.aborted) {
      const processes = await processesOf(variable);
      const bytes = await Promise.all(processes.map(({ pid }) => readMemory(pid)));
      peakBytes = Math.max(peakBytes, sumOf(bytes));
      const others = processes.filter(({ commandLine: [command = ""] }) => basename(command) !== "pulumi");
      for (const { pid } of others) cpu.set(pid, await readCpu(pid));
      await delay(everyMs, undefined, { signal: finished.signal }).catch(() => undefined);
    }
  };
  const sampling = sample();
  try {
    return { milliseconds: await timeOf(work), cpuMs: sumOf([...cpu.values()]), peakBytes };
  } finally {
    finished.abort();
    await sampling;
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

const read = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");

/** User and system time in milliseconds; 0 if the process has ended. */
async function readCpu(pid: number): Promise<number> {
  const text = await read(pid, "stat");
  // The fields follow the name of the program, which may contain spaces. /proc counts in hundredths of a
  // second.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
}

/**
 * Reads the proportional set size. Without smaps_rollup, as in some sandboxes, shared memory counts for each
 * process.
 */
async function readMemory(pid: number): Promise<number> {
  const text = `${await read(pid, "smaps_rollup")}\n${await read(pid, "status")}`;
  const [, kibibytes = 0] = /^Pss:\s+(\d+) kB$/m.exec(text) ?? /^VmRSS:\s+(\d+) kB$/m.exec(text) ?? [];
  return 1024 * Number(kibibytes);
}
