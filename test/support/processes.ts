import { readFile, readdir } from "node:fs/promises";

export interface ProcessInfo {
  pid: number;
  commandLine: string[];
}

/**
 * The processes that have a variable of this value in their environment: all that a command started, also those in
 * process groups of their own and those whose parent has ended. A zombie has no environment, so it does not count.
 */
export async function processesOf(variable: { name: string; value: string }): Promise<ProcessInfo[]> {
  const entries = await readdir("/proc");
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = await Promise.all(pids.map((pid) => describeProcess(pid, variable)));
  return found.filter((info) => info !== undefined);
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
