import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineEnvironment } from "../../engine/environment.ts";
import { resolveEngine } from "../../engine/resolve.ts";
import { CommandError, run } from "../../setup/run.mjs";
import { endLeftovers } from "../../start/leftovers.ts";
import { startChild, type Child } from "../child.ts";
import { timeOf, type RowContext } from "../measure.ts";
import type { ServiceReport } from "../service.ts";
import { API_KEY, VERIFICATION_KEY, workspaceNames } from "../settings.ts";
import { watchMemory } from "./memory.ts";

/** How the workspaces are split. */
export type Split = "oneStack" | "oneStackWithoutCheckpoints" | "fleet";

/** What one `up` and one `refresh` of so many workspaces took, in a place of its own. */
export interface SplitRun {
  split: Split;
  workspaces: number;
  stacks: number;
  upSeconds: number;
  refreshSeconds: number;
  /** The most memory that the processes of one command held at one moment, without the service; undefined: not known here. */
  peakBytes: number | undefined;
  /** How often each action of the service was called by `up`, as the service counted it. */
  upCalls: Record<string, number>;
  refreshCalls: Record<string, number>;
  /** How many bot URLs the index of the fleet gave; undefined for one stack. */
  indexedBotUrls: number | undefined;
}

export interface RunGiven extends Pick<RowContext, "signal" | "update"> {
  workspaces: number;
}

/** The calls of the registration interface: those of the endpoint are the handshakes. */
export function readCalls({ calls }: ServiceReport): Record<string, number> {
  return Object.fromEntries(Object.entries(calls).filter(([action]) => action !== "endpoint"));
}

/** A run counts only if everything is registered. */
export function requireRegistered(
  { registered }: ServiceReport,
  { workspaces }: { workspaces: number },
): void {
  if (registered === workspaces) return;
  throw new Error(`${registered} webhooks are registered, and should be ${workspaces}`);
}

/** The larger of two peaks; undefined if one is not known. */
export function largerPeak(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || second === undefined ? undefined : Math.max(first, second);
}

const MARKER = "BENCH_RUN";

/** An interrupted engine finishes what it has begun and ends its plugins. */
const GRACE_MS = 20_000;

interface Command {
  program: string;
  parameters: readonly string[];
  folder: string;
  environment?: Record<string, string>;
  onLine?: (line: string) => void;
}

export interface CommandFigures {
  seconds: number;
  /** Of all processes that the command started; undefined where that cannot be found out. */
  peakBytes: number | undefined;
}

/** A service in its own process, and a folder with a backend of its own: what one run needs. */
export interface Place {
  service: Child<ServiceReport>;
  folder: string;
  /** The Pulumi command. */
  pulumi: string;
  /** As a fleet's list has them. */
  workspaces: readonly { name: string; baseUrl: string; apiKey: string }[];
  /** Runs a command to its end, and measures it. */
  measure(command: Command): Promise<CommandFigures>;
}

/** Does `work` in a place with so many workspaces, and removes all of it afterwards, also what still runs. */
export async function withPlace<Result>(
  { workspaces, signal }: { workspaces: number } & Pick<RowContext, "signal">,
  work: (place: Place) => Promise<Result>,
): Promise<Result> {
  const engine = await resolveEngine({ signal });
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-bench-"));
  const marker = randomUUID();
  const service = await startChild<ServiceReport>(new URL("../service.ts", import.meta.url), [
    String(workspaces),
  ]);
  try {
    const backend = join(folder, "backend");
    await mkdir(backend);
    const environment = {
      ...engineEnvironment(engine, { home: join(folder, "home"), backend, passphrase: "bench" }),
      [MARKER]: marker,
      BENCH_WEBHOOK_URL: `${service.ready.endpointUrl}/webhooks/apichat`,
      BENCH_VERIFICATION_KEY: VERIFICATION_KEY,
    };
    return await work({
      service,
      folder,
      pulumi: engine.command,
      workspaces: workspaceNames(workspaces).map((name) => ({
        name,
        baseUrl: `${service.ready.serviceUrl}/${name}/apichat`,
        apiKey: API_KEY,
      })),
      measure: (command) => measureCommand(command, { marker, environment, signal }),
    });
  } finally {
    await endLeftovers(`${MARKER}=${marker}`);
    await service.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function measureCommand(
  { program, parameters, folder, environment, onLine }: Command,
  given: { marker: string; environment: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<CommandFigures> {
  const options = {
    cwd: folder,
    env: { ...given.environment, ...environment },
    signal: given.signal,
    graceMs: GRACE_MS,
    ...(onLine && { onLine }),
  };
  const start = (): Promise<number> => timeOf(() => run(program, parameters, options));
  try {
    const { result, peakBytes } = await watchMemory(`${MARKER}=${given.marker}`, start);
    return { seconds: result / 1000, peakBytes };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new Error(`${error.message} (${parameters.join(" ")})\n${error.output}`, { cause: error });
  }
}
