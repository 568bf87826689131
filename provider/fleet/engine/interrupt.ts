/** How long a command may take until it tells of its first step, in milliseconds. */
const START_MS = 5_000;

/** Hands a wish to stop over to one engine command. */
export interface Interrupt {
  /** For the SDK: it sends one SIGINT when this fires. */
  signal: AbortSignal;
  /** Call it at the command's first event. */
  begun(): void;
  /** Call it when the command has ended. */
  end(): void;
}

/**
 * A SIGINT before the engine listens for it would kill it, and the SDK misses a signal that fires before its process runs. So
 * the wish waits until the command has begun.
 */
export function createInterrupt(stop: AbortSignal): Interrupt {
  const controller = new AbortController();
  let hasBegun = false;
  let timer: NodeJS.Timeout | undefined;
  const onStop = (): void => {
    if (hasBegun) controller.abort();
    else timer ??= setTimeout(() => controller.abort(), START_MS);
  };
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  return {
    signal: controller.signal,
    begun: () => {
      hasBegun = true;
      if (stop.aborted && !controller.signal.aborted) controller.abort();
    },
    end: () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", onStop);
    },
  };
}
