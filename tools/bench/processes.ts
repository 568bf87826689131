/** What processes take: time, CPU, memory. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { processesOf } from "../lib/processes.ts";
import { run } from "../lib/run.ts";
import { alternate, timeOf, type Context, type Samples } from "./measure.ts";

const cwd = fileURLToPath(new URL("../..", import.meta.url));

/** How long Node runs with one list of arguments and with the other, in milliseconds. */
export const compareNode =
  (ours: string[], bare: string[]) =>
  (context: Context): Promise<Samples> => {
    const timeNode = (args: string[]) => () =>
      timeOf(() => run(process.execPath, args, { cwd, signal: context.signal }));
    return alternate(context, { ours: timeNode(ours), bare: timeNode(bare) }, { rounds: 25, warmUp: 2 });
  };

/** What the processes of a project used during one piece of work. */
interface Usage {
  milliseconds: number;
  /** CPU time of all of them, except the engine. Lacks what a process does after the last sample. */
  cpuMs: number;
  /** The peak of the sum of their proportional shares; 0 without /proc. */
  peakBytes: number;
}

/** Does `work`, and samples the processes that have this variable in their environment. */
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
  // Behind the name of the program, which may hold spaces. /proc counts in hundredths of a second.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
}

/** Some sandboxes have no smaps_rollup; there, what processes share counts for each of them. */
async function readMemory(pid: number): Promise<number> {
  const text = `${await read(pid, "smaps_rollup")}\n${await read(pid, "status")}`;
  const [, kibibytes = 0] = /^Pss:\s+(\d+) kB$/m.exec(text) ?? /^VmRSS:\s+(\d+) kB$/m.exec(text) ?? [];
  return 1024 * Number(kibibytes);
}
