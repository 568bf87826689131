import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { signalProcess } from "./run.mjs";

const pollMs = 200;

/**
 * Does `work` while this process alone has the lock file `path`; another process waits, and says so on stderr. The lock
 * of a process that is gone is taken over. (Written here, because the set-up runs before there are dependencies.)
 *
 * @template T
 * @param {string} path
 * @param {AbortSignal | undefined} signal ends the waiting
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, signal, work) {
  await mkdir(dirname(path), { recursive: true });
  for (let isFirst = true; !(await create(path)); isFirst = false) {
    const holder = await readHolder(path);
    if (isFirst) {
      process.stderr.write(
        `Waiting for process ${holder}, which does the same work. If it does not: remove ${path}\n`,
      );
    }
    if (Number(holder) > 0 && !signalProcess(Number(holder), 0)) await takeOver(path, holder);
    await delay(pollMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

/**
 * Removes a lock that still is the holder's. A lock of its own keeps a slower process from removing the next one.
 *
 * @param {string} path
 * @param {string} holder
 */
async function takeOver(path, holder) {
  const guard = `${path}.takeover`;
  if (!(await create(guard))) return;
  if ((await readHolder(path)) === holder) await rm(path, { force: true });
  await rm(guard);
}

/** @param {string} path */
const readHolder = (path) => readFile(path, "utf8").catch(() => "");

/** @param {string} path */
async function create(path) {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
