import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";

const rounds = 50;
const pauseMs = 100;

/**
 * Ends every process that has this setting, `NAME=value`, in its environment. An engine that is ended while it starts a
 * host leaves the host behind, in a process group of its own. Linux only: elsewhere such a host ends by itself after
 * some minutes.
 */
export async function endLeftovers(setting: string): Promise<void> {
  if (process.platform !== "linux") return;
  for (let round = 0; round < rounds; round += 1) {
    const found = await findProcesses(setting);
    if (found.length === 0) return;
    for (const id of found) endProcess(id);
    await delay(pauseMs);
  }
  throw new Error(`processes of this run do not end: ${(await findProcesses(setting)).join(", ")}`);
}

/** The processes that have this setting, `NAME=value`, in their environment, but for this one. Linux only. */
export async function findProcesses(setting: string): Promise<number[]> {
  const ids = (await readdir("/proc")).map(Number).filter((id) => id > 0 && id !== process.pid);
  const environments = await Promise.all(ids.map(readEnvironment));
  return ids.filter((_, index) => environments[index]?.includes(setting));
}

/** Empty for a process that has ended in the meantime, or belongs to another user. */
async function readEnvironment(id: number): Promise<string[]> {
  const text = await readFile(`/proc/${id}/environ`, "utf8").catch(() => "");
  return text.split("\0");
}

function endProcess(id: number): void {
  try {
    process.kill(id, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
