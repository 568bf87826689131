import { startServer, type RunningServer } from "./server.js";

interface ServeOptions {
  /** The configuration file; SIGHUP reads it again. */
  configFile: string;
  /** Identifies this start. The log then goes to `responder.log` in the data folder, else to stderr. */
  instance?: string | undefined;
}

/**
 * Runs a responder as the only task of this process until SIGTERM or SIGINT stops it; a second signal kills it. Throws
 * what `startServer` throws. A crash ends the process with exit code 1.
 */
export async function serveUntilSignal({ configFile, instance }: ServeOptions): Promise<void> {
  // Files that SQLite and others create are for the owner only.
  process.umask(0o077);
  // A closed stderr must not crash the responder.
  process.stderr.on("error", () => undefined);
  const log = instance === undefined ? "stderr" : "file";
  const started = startServer({ configFile, instance, log });
  obeySignals(started);
  const server = await started;
  process.on("uncaughtException", (error) => {
    // Node would print the error unredacted, and it may contain a key.
    server.log.error("crashed", { error: error.stack ?? error.message });
    process.exit(1);
  });
  await server.stopped;
}

/** Obeys a signal that arrives during the start after it. */
function obeySignals(started: Promise<RunningServer>): void {
  // A start or a reload that fails is reported elsewhere.
  const obey = (act: (server: RunningServer) => unknown) => () =>
    void started.then(act).catch(() => undefined);
  process.on(
    "SIGHUP",
    obey((server) => server.reload()),
  );
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, killOnSecondCall(obey((server) => server.stop())));
  }
}

/** How long a graceful stop may take, in milliseconds: it waits for things of ten seconds at most. */
const STOP_MS = 12_000;

/** The first call stops gracefully, the second ends the process at once. */
function killOnSecondCall(stop: () => void): () => void {
  let calls = 0;
  return () => {
    calls++;
    if (calls > 1) kill();
    setTimeout(kill, STOP_MS).unref();
    stop();
  };
}

/** Loses nothing that was acknowledged. `process.exit` would wait for a file that cannot be read, such as a key's pipe. */
const kill = (): void => void process.kill(process.pid, "SIGKILL");
