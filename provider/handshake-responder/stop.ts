import { setTimeout as sleep } from "node:timers/promises";
import { readInstance, requestStop, type Instance } from "../server/control-client.js";
import { processError } from "./failure.js";
import { KILL_MS, LOOK_EVERY_MS, STOP_MS } from "./limits.js";
import { isInstanceOf, isResponder } from "./process-table.js";
import { isSilence } from "./running.js";

/**
 * Ends the process that has announced itself in a folder, and waits until it has ended: gracefully, and after 20 seconds
 * with SIGKILL, provided that the process of that pid carries the instance. Whoever else has its pid or its port now is
 * left alone.
 */
export async function stopProcess(dataDir: string, announced: Instance): Promise<void> {
  const { pid, instance } = announced;
  const isTracked = await isInstanceOf(pid, instance);
  // One that was started by hand carries no instance: it takes its announcement away when it has ended.
  const lives = async (): Promise<boolean> =>
    isTracked ? isInstanceOf(pid, instance) : (await readInstance(dataDir))?.instance === instance;
  const answer = await askToStop(announced);
  if (answer === "gone" && !isTracked) return;
  if (await waitUntilNot(lives, answer === "stops" ? STOP_MS : 0)) return;
  if (isTracked) killIfAlive(pid);
  if (await waitUntilNot(lives, KILL_MS)) return;
  throw processError(
    "timeout",
    `the responder (pid ${pid}) was asked to stop and has not ended; end it by hand and try again`,
  );
}

async function askToStop(announced: Instance): Promise<"stops" | "gone" | "silent"> {
  try {
    return (await requestStop(announced)) ? "stops" : "gone";
  } catch (error) {
    if (!isSilence(error)) throw error;
    return (await isResponder(announced.pid)) ? "silent" : "gone";
  }
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Whether it ceased in time. */
async function waitUntilNot(lives: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  while (await lives()) {
    if (Date.now() >= deadline) return false;
    await sleep(LOOK_EVERY_MS);
  }
  return true;
}
