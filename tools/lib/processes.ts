import { readFile, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface ProcessInfo {
  pid: number;
  commandLine: string[];
}

/**
 * Finds the processes whose command line or environment contains this text, such as the path of a run's own folder.
 * So it finds everything that the run started, including processes in their own groups or whose parent has ended.
 * Without a /proc, it finds nothing; processes that an engine left behind then end by themselves after some minutes.
 */
export async function processesNaming(text: string): Promise<ProcessInfo[]> {
  const entries = await readdir("/proc").catch(() => []);
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = pids.map(async (pid) => {
    const commandLine = await readWords(pid, "cmdline");
    const words = [...commandLine, ...(await readWords(pid, "environ"))];
    return words.some((word) => word.includes(text)) ? [{ pid, commandLine }] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Kills these processes, and searches again until none are left: an engine may have started more meanwhile. */
export async function endProcessesNaming(text: string): Promise<void> {
  for (;;) {
    const alive = await processesNaming(text);
    if (alive.length === 0) return;
    for (const { pid } of alive) signalIfAlive(pid, "SIGKILL");
    await sleep(20);
  }
}

/**
 * Sends a signal to a process, or to a process group if `pid` is negative. Returns false if the process or
 * group has ended. Signal 0 only tests for this.
 */
export function signalIfAlive(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    return false;
  }
}

/** Returns the words of a file in /proc; an empty list if the process has ended or belongs to another user. */
async function readWords(pid: number, file: string): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  return text.split("\0").filter((word) => word !== "");
}
