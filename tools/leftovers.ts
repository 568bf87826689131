import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { signalProcess } from "./setup/run.mjs";

/**
 * Ends every process that has this setting, `NAME=value`, in its environment. An engine that is ended while it starts a
 * host leaves the host behind, in a process group of its own. Linux only: elsewhere such a host ends by itself after
 * some minutes.
 */
export async function endLeftovers(setting: string): Promise<void> {
  let found: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    found = await findProcesses(setting);
    if (found.length === 0) return;
    for (const id of found) signalProcess(id, "SIGKILL");
    await delay(100);
  }
  throw new Error(`processes of this run do not end: ${found.join(", ")}`);
}

/** The processes that have this setting, `NAME=value`, in their environment, but for this one. None where there is no /proc. */
export async function findProcesses(setting: string): Promise<number[]> {
  if (process.platform !== "linux") return [];
  const ids = (await readdir("/proc")).map(Number).filter((id) => id > 0 && id !== process.pid);
  // Empty for a process that has ended in the meantime, or belongs to another user.
  const environments = await Promise.all(
    ids.map((id) => readFile(`/proc/${id}/environ`, "utf8").catch(() => "")),
  );
  return ids.filter((_, index) => environments[index]?.split("\0").includes(setting));
}
