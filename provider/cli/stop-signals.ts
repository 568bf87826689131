/**
 * Resolves at the first Ctrl-C or SIGTERM, for commands that run until then: what is under way can be ended cleanly. The
 * second ends the process at once, with exit code 1.
 */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let calls = 0;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        calls += 1;
        if (calls > 1) process.exit(1);
        resolve();
      });
    }
  });
}
