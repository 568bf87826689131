import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A server of servers.ts in a process of its own, which answers each message with one report. */
export interface Child<Report> extends AsyncDisposable {
  /** What it reported first. */
  ready: Report;
  ask(): Promise<Report>;
}

/** What a server that takes load reports. */
export interface ServerReport {
  url: string;
  /** After a collection, if the process can be told to collect. */
  heapBytes: number;
  /** What its process has computed so far, in milliseconds. */
  cpuMs: number;
}

/** What a server that takes messages and sends replies reports. */
export interface RelayReport {
  /** Where messages go. */
  url: string;
  flowApiKey: string;
}

/** What the service and its endpoint report. */
export interface ServiceReport {
  serviceUrl: string;
  endpointUrl: string;
  /** The number of workspaces with a registration. */
  registered: number;
  /** How often each action was called since the last report, and the endpoint. */
  calls: Record<string, number>;
}

/** Starts a server of servers.ts in another process, so that it does not share this one's event loop. It ends with this process. */
export async function startServer<Report = ServerReport>(
  name: string,
  argument = "",
  execArgv: string[] = [],
): Promise<Child<Report>> {
  const module = fileURLToPath(new URL("servers.ts", import.meta.url));
  const child = fork(module, [name, argument], { execArgv });
  return {
    ready: await nextReport<Report>(child),
    ask: () => {
      const report = nextReport<Report>(child);
      child.send("ask");
      return report;
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** The service with so many workspaces, and an endpoint. */
export const startService = (workspaces: number): Promise<Child<ServiceReport>> =>
  startServer<ServiceReport>("service", String(workspaces));

async function nextReport<Report>(child: ChildProcess): Promise<Report> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const gone = once(child, "exit", { signal }).then(([code, killedBy]) => {
    throw new Error(`${child.spawnargs.at(-2)} ended by itself: ${String(killedBy ?? code)}`);
  });
  try {
    const [report] = (await Promise.race([once(child, "message", { signal }), gone])) as [Report];
    return report;
  } finally {
    waiting.abort();
    // It rejects now that nobody waits for it.
    await gone.catch(() => undefined);
  }
}

/** The other side of {@link startServer}: sends `report()` now and on each message. Ends when the parent is gone. */
export function serveParent(report: () => unknown): void {
  const send = (): void => void process.send?.(report());
  process.on("message", send);
  process.on("disconnect", () => process.exit());
  send();
}
