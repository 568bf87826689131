import { readFile, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface ProcessInfo {
  pid: number;
  commandLine: string[];
}

/**
 * The processes that have a variable of this value in their environment: all that a command started, also those in
 * process groups of their own and those whose parent has ended. A zombie has no environment, so it does not count.
 */
export async function processesOf(variable: { name: string; value: string }): Promise<ProcessInfo[]> {
  const pids = await listPids();
  const found = await Promise.all(pids.map((pid) => describeProcess(pid, variable)));
  return found.filter((info) => info !== undefined);
}

/** The processes that have this text on their command line, such as a folder of the test's own. */
export async function processesNaming(text: string): Promise<ProcessInfo[]> {
  const pids = await listPids();
  const found = await Promise.all(
    // What has ended meanwhile has no command line.
    pids.map(async (pid) => ({
      pid,
      commandLine: await readStrings(`/proc/${pid}/cmdline`).catch(() => []),
    })),
  );
  return found.filter(({ commandLine }) => commandLine.some((word) => word.includes(text)));
}

/** Ends the processes of {@link processesNaming}, and waits until there is none. */
export const endProcessesNaming = (text: string): Promise<void> => endAll(() => processesNaming(text));

/** The same of {@link processesOf}. An engine leaves hosts behind that it was about to start. */
export const endProcessesOf = (variable: { name: string; value: string }): Promise<void> =>
  endAll(() => processesOf(variable));

async function endAll(find: () => Promise<ProcessInfo[]>): Promise<void> {
  for (;;) {
    const alive = await find();
    if (alive.length === 0) return;
    for (const { pid } of alive) signalIfAlive(pid, "SIGKILL");
    await sleep(20);
  }
}

/** Sends a signal to a process, or with a negative number to a group, unless it has ended. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function listPids(): Promise<number[]> {
  // Where there is no /proc, what an engine left behind ends by itself after some minutes.
  const entries = await readdir("/proc").catch(() => []);
  return entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
}

async function describeProcess(
  pid: number,
  { name, value }: { name: string; value: string },
): Promise<ProcessInfo | undefined> {
  try {
    const environment = await readStrings(`/proc/${pid}/environ`);
    if (!environment.includes(`${name}=${value}`)) return undefined;
    return { pid, commandLine: await readStrings(`/proc/${pid}/cmdline`) };
  } catch {
    // It ended meanwhile, or is not ours to read.
    return undefined;
  }
}

async function readStrings(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8");
  return text.split("\0").filter((part) => part !== "");
}
