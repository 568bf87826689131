/** A signal that never fires. */
export const NEVER: AbortSignal = new AbortController().signal;

/** Fires with the first of these. `AbortSignal.any` is slow, and most calls give one signal or none. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : (given[0] ?? NEVER);
}

/** Settles as `work` does, or rejects with the signal's reason as soon as it fires: undici first waits for its connection. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const giveUp = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
