import { startServer, type RunningServer, type ServerOptions } from "./server.js";

export interface ServeOptions extends ServerOptions {
  /** How long requests are still accepted after SIGTERM, while the ready path answers 503. Default 0. */
  drainSeconds?: number | undefined;
}

/**
 * Runs a responder as the only task of this process until SIGTERM or SIGINT stops it. The same signal again
 * kills the process. Throws what `startServer` throws. A crash ends the process with exit code 1.
 */
export async function serveUntilSignal({ drainSeconds = 0, ...options }: ServeOptions): Promise<void> {
  // Makes the files that SQLite and others create accessible only to their owner.
  process.umask(0o077);
  // A closed stderr must not crash the responder.
  process.stderr.on("error", () => undefined);
  let server: RunningServer | undefined;
  process.on("uncaughtException", (error) => {
    // Node would print the message, which may contain a key.
    if (server) server.log.error("crashed", { error: error.name, stack: framesOf(error) });
    else process.stderr.write(`error: the responder crashed while starting: ${error.name}\n`);
    process.exit(1);
  });
  const started = startServer(options);
  obeySignals(started, drainSeconds * 1000);
  server = await started;
  await server.stopped;
}

/** Where an error comes from, without its message. */
const framesOf = ({ stack = "" }: Error): string =>
  (stack.match(/^ {4}at .*:\d+:\d+\)?$/gm) ?? []).join("\n");

/** Handles signals. One that arrives during the start takes effect when the start has ended. */
function obeySignals(started: Promise<RunningServer>, drainMs: number): void {
  // Errors are ignored here: a start or a reload that fails is reported elsewhere.
  const obey = (act: (server: RunningServer) => unknown) => () =>
    void started.then(act).catch(() => undefined);
  const reload = obey((server) => server.reload());
  const drain = obey((server) => server.drain());
  const stop = obey((server) => server.stop());
  const isWindows = process.platform === "win32";
  if (!isWindows) process.on("SIGHUP", reload);
  for (const signal of isWindows ? WINDOWS_STOPS : (["SIGTERM", "SIGINT"] as const)) {
    // Ctrl-C does not drain.
    const waitMs = signal === "SIGTERM" ? drainMs : 0;
    // `once` removes this listener, so a second signal ends the process immediately.
    process.once(signal, () => {
      setTimeout(kill, waitMs + STOP_MS).unref();
      if (waitMs > 0) drain();
      setTimeout(stop, waitMs);
    });
  }
}

/** On Windows, SIGHUP means that the console closes, and service managers send SIGBREAK. */
const WINDOWS_STOPS = ["SIGINT", "SIGBREAK", "SIGHUP"] as const;

/** How long a graceful stop may take, in milliseconds: everything that it waits for takes ten seconds at most. */
const STOP_MS = 12_000;

/** Uses SIGKILL, because `process.exit` would wait for a pending read, for example of a key from a pipe. */
const kill = (): void => void process.kill(process.pid, "SIGKILL");
