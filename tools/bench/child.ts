import { execaNode } from "execa";

/** Test keys of the service and the endpoint, valid nowhere. */
export const API_KEY = "api-key-of-the-benchmark-0123456789abcdef";
export const VERIFICATION_KEY = "verification-key-of-the-benchmark-0123456789";

/** The seed and the rotations of the derived keys in the row `stranger`. */
export const KEY_SEED = "seed-of-the-benchmark-YXBpY2hhdC0wMTIzNDU2Nzg5";
export const ROTATIONS = ["second", "first"];

/** Returns this many names of workspaces. */
export const workspaceNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `workspace-${String(index + 1).padStart(4, "0")}`);

/** A server of servers.ts in its own process, which responds to each message with a report. */
export interface Child<Report> extends AsyncDisposable {
  /** The first report. */
  ready: Report;
  ask(): Promise<Report>;
}

/** The report of a server under load. */
export interface ServerReport {
  url: string;
  /** The CPU time of its process so far, in milliseconds. */
  cpuMs: number;
}

/** The report of the service with its endpoint. */
export interface ServiceReport {
  serviceUrl: string;
  endpointUrl: string;
  /** The number of workspaces with a registration. */
  registered: number;
}

/**
 * Starts a server of servers.ts in a separate process, so that it does not share this one's event loop. It
 * ends with this process.
 */
export async function startServer<Report = ServerReport>(
  name: string,
  argument = "",
): Promise<Child<Report>> {
  const child = execaNode(new URL("servers.ts", import.meta.url), [name, argument], {
    ipc: true,
    stdio: "inherit",
  });
  // Rejects if the process ends by itself.
  const nextReport = async (): Promise<Report> => (await child.getOneMessage()) as Report;
  return {
    ready: await nextReport(),
    ask: async () => {
      const report = nextReport();
      await child.sendMessage("ask");
      return report;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child.catch(() => undefined);
    },
  };
}

export interface ServiceOptions {
  workspaces: number;
  /** How long each call takes. Default 0. */
  delayMs?: number;
}

/** Starts the service with some workspaces, and an endpoint. */
export const startService = (options: ServiceOptions): Promise<Child<ServiceReport>> =>
  startServer<ServiceReport>("service", JSON.stringify(options));
