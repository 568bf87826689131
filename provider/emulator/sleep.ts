import { setTimeout as wait } from "node:timers/promises";

const LONGEST_TIMER_MS = 2_147_483_647;

/** Waits so long, or until the signal: ask it which it was. */
export async function sleep(durationMs: number, signal: AbortSignal): Promise<void> {
  const endMs = Date.now() + durationMs;
  for (let leftMs = durationMs; leftMs > 0 && !signal.aborted; leftMs = endMs - Date.now()) {
    // It rejects only because of the signal.
    await wait(Math.min(leftMs, LONGEST_TIMER_MS), undefined, { signal }).catch(() => {});
  }
}
