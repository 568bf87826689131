import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { ConcurrentUpdateError, type Stack } from "@pulumi/pulumi/automation/index.js";

/** How long a lock of a living process of this machine is waited for: an engine that was told to stop may still be ending. */
const WAIT_MS = 60_000;
const LOOK_AGAIN_MS = 500;

/** Who holds a stack, as the backends with files say it. */
export interface LockHolder {
  user: string;
  host: string;
  pid: number;
}

/** Reads the holders from the text of the failed command; none for Pulumi Cloud, which does not name them. */
export function readHolders(text: string): LockHolder[] {
  const found = text.matchAll(/created by (\S+?)@(\S+) \(pid (\d+)\)/g);
  return [...found].map(([, user = "", host = "", pid]) => ({ user, host, pid: Number(pid) }));
}

/** Somebody else works on the stack. */
class StackLockedError extends Error {}

/**
 * Runs a command. If the stack is locked by processes of this machine, it waits until they have ended, removes the lock that a
 * killed one left, and runs the command again. Throws {@link StackLockedError} for every other lock.
 */
export async function runUnlocked<T>(
  stack: Stack,
  command: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    try {
      return await command();
    } catch (error) {
      if (!(error instanceof ConcurrentUpdateError)) throw error;
      const holders = readHolders(error.message);
      if (holders.length === 0 || holders.some(({ host }) => host !== hostname()))
        throw locked(stack, holders);
      if (!holders.some(isAlive)) {
        await stack.cancel();
        continue;
      }
      // Whoever ends by itself removes its lock itself: removing it here could hit the lock of the next one.
      await waitForEnd(holders, { deadline, signal });
      if (signal.aborted || holders.some(isAlive)) throw locked(stack, holders);
    }
  }
}

async function waitForEnd(
  holders: readonly LockHolder[],
  { deadline, signal }: { deadline: number; signal: AbortSignal },
): Promise<void> {
  while (holders.some(isAlive) && Date.now() < deadline && !signal.aborted) await sleep(LOOK_AGAIN_MS);
}

function isAlive({ pid }: LockHolder): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process may not be asked, but it is there.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function locked(stack: Stack, holders: readonly LockHolder[]): StackLockedError {
  const who = holders.map(({ user, host, pid }) => `${user}@${host} (process ${pid})`).join(", ");
  return new StackLockedError(
    who === ""
      ? "another run works on this stack; wait until it has ended, or stop it with pulumi cancel"
      : `another run works on this stack: ${who}; wait until it has ended, or remove its lock with "pulumi cancel --stack ${stack.name}"`,
  );
}
