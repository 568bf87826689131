import { readFile, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface ProcessInfo {
  pid: number;
  commandLine: string[];
}

/**
 * Finds the processes with this variable in their environment: everything that a command started, including
 * processes in their own groups and those whose parent has ended. A zombie has no environment, so it is left
 * out.
 */
export const processesOf = ({ name, value }: Variable): Promise<ProcessInfo[]> =>
  findProcesses("environ", (words) => words.includes(`${name}=${value}`));

/** Finds the processes with this text on their command line, such as a folder of the test's own. */
export const processesNaming = (text: string): Promise<ProcessInfo[]> =>
  findProcesses("cmdline", (words) => words.some((word) => word.includes(text)));

interface Variable {
  name: string;
  value: string;
}

/** Kills the processes of {@link processesNaming}, and waits until they are gone. */
export const endProcessesNaming = (text: string): Promise<void> => endAll(() => processesNaming(text));

/** Kills the processes of {@link processesOf}: an engine leaves behind hosts that it was about to start. */
export const endProcessesOf = (variable: Variable): Promise<void> => endAll(() => processesOf(variable));

async function endAll(find: () => Promise<ProcessInfo[]>): Promise<void> {
  for (;;) {
    const alive = await find();
    if (alive.length === 0) return;
    for (const { pid } of alive) signalIfAlive(pid, "SIGKILL");
    await sleep(20);
  }
}

/** Sends a signal to a process, or to a process group if the number is negative, unless it has ended. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Returns no process where there is no /proc; what an engine left behind ends by itself after some minutes. */
async function findProcesses(
  file: "cmdline" | "environ",
  matches: (words: readonly string[]) => boolean,
): Promise<ProcessInfo[]> {
  const entries = await readdir("/proc").catch(() => []);
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = pids.map(async (pid) => {
    if (!matches(await readWords(pid, file))) return [];
    const commandLine = await readWords(pid, "cmdline");
    return commandLine.length > 0 ? [{ pid, commandLine }] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Returns nothing if the process has ended or belongs to another user. */
async function readWords(pid: number, file: string): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  return text.split("\0").filter((word) => word !== "");
}
