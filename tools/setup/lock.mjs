import { mkdir, open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";

const beatMs = 1000;
const pollMs = 200;
/** Counted in looks, not by the clock: after a suspended machine wakes, the holder gets its turn first. */
const looksUntilAbandoned = 40;

/**
 * Does `work` while this process alone holds the lock file `path`; another process that wants it waits. The lock of
 * a killed process is taken over: its holder touches the file every second, and one that nobody has touched for
 * eight seconds is abandoned. (Written here, because the set-up runs before there are dependencies.)
 *
 * @template T
 * @param {string} path
 * @param {object} options
 * @param {AbortSignal} [options.signal] ends the waiting
 * @param {(holder: string) => void} [options.onWait] called once, with the holder's process id, if there is a wait
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, options, work) {
  await mkdir(dirname(path), { recursive: true });
  await acquire(path, options);
  const beat = setInterval(() => void touch(path), beatMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if ((await holderOf(path)) === String(process.pid)) await rm(path, { force: true });
  }
}

/**
 * @param {string} path
 * @param {{ signal?: AbortSignal, onWait?: (holder: string) => void }} options
 */
async function acquire(path, { signal, onWait }) {
  let seenMs = 0;
  let looks = 0;
  let told = false;
  while (!(await create(path))) {
    const touchedMs = await modifiedMs(path);
    if (touchedMs === undefined) continue;
    if (!told) onWait?.(await holderOf(path));
    told = true;
    if (touchedMs !== seenMs) {
      seenMs = touchedMs;
      looks = 0;
    } else if (++looks > looksUntilAbandoned) {
      await removeAbandoned(path, touchedMs);
    }
    await delay(pollMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }
}

/** @param {string} path */
async function create(path) {
  try {
    const file = await open(path, "wx");
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

/**
 * Takes the lock away in one step, so that of two waiting processes only one removes it, and puts it back if a third
 * has renewed it in between.
 *
 * @param {string} path
 * @param {number} touchedMs
 */
async function removeAbandoned(path, touchedMs) {
  const aside = `${path}.abandoned-${process.pid}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  if ((await modifiedMs(aside)) === touchedMs) await rm(aside, { force: true });
  else await rename(aside, path);
}

/** @param {string} path */
async function holderOf(path) {
  return readFile(path, "utf8").catch(() => "unknown");
}

/** @param {string} path */
async function modifiedMs(path) {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** @param {string} path */
async function touch(path) {
  const now = new Date();
  try {
    await utimes(path, now, now);
  } catch (error) {
    // Taken over while this process was suspended: the work still ends well, its result is written in one step.
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

/**
 * @param {unknown} error
 * @param {string} code
 */
function hasCode(error, code) {
  return error instanceof Error && "code" in error && error.code === code;
}
