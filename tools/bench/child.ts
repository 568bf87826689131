import { execaNode } from "execa";

/** The keys of the service and the endpoint. They open nothing. */
export const API_KEY = "api-key-of-the-benchmark-0123456789abcdef";
export const VERIFICATION_KEY = "verification-key-of-the-benchmark-0123456789";

/** The seed of the keys that the row `rotation` derives, and the rotations that its endpoint accepts. */
export const KEY_SEED = "seed-of-the-benchmark-YXBpY2hhdC0wMTIzNDU2Nzg5";
export const ROTATIONS = ["second", "first"];

/** The names of so many workspaces. */
export const workspaceNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `workspace-${String(index + 1).padStart(4, "0")}`);

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
  /** How often each action was called, and the endpoint. */
  calls: Record<string, number>;
  /** What became of the deliveries. */
  deliveries: { delivered: number; failed: number };
}

/** Starts a server of servers.ts in another process, so that it does not share this one's event loop. It ends with this process. */
export async function startServer<Report = ServerReport>(
  name: string,
  argument = "",
  nodeOptions: string[] = [],
): Promise<Child<Report>> {
  const module = new URL("servers.ts", import.meta.url);
  const child = execaNode(module, [name, argument], { nodeOptions, ipc: true, stdio: "inherit" });
  // These reject if the process ends by itself.
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
  /** To the endpoint. Default 0. */
  deliveriesPerSecond?: number;
  /** How long each call takes. Default 0. */
  delayMs?: number;
}

/** The service with some workspaces, and an endpoint. */
export const startService = (options: ServiceOptions): Promise<Child<ServiceReport>> =>
  startServer<ServiceReport>("service", JSON.stringify(options));

/** The other side of {@link startServer}: sends `report()` now and on each message. */
export function serveParent(report: () => unknown): void {
  const send = (): void => void process.send?.(report());
  process.on("message", send);
  process.on("disconnect", () => process.exit());
  send();
}
