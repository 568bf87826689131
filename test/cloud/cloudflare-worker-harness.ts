import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { deriveVerificationKeys } from "pulumi-apichat/responder";
import { SEED } from "../support/derived-keys.ts";
import { startServer } from "../support/http.ts";

const ROTATIONS = ["2026-12", "2026-09"];

const keysOf = (subject: string): Promise<string[]> =>
  deriveVerificationKeys(SEED, { subject, rotations: ROTATIONS });

export const KEYS = { acme: await keysOf("acme"), globex: await keysOf("globex") };

export interface StartOptions {
  /** The forwarding target of the workspaces; `/acme` and `/globex` are appended. */
  target: string;
  /** Replays dead letters, like the program's `replayDeadLetters`. Default: posts them to `/dead-letters`. */
  replay?: boolean;
  /** How many times a queue retries a message. Default: 2. */
  maxRetries?: number;
}

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

/** A Worker that consumes the dead letters, and posts each one, unchanged, to the target. */
const GRAVEYARD = `export default {
  async queue(batch, env) {
    for (const { body } of batch.messages) await fetch(env.URL, { method: "POST", body: JSON.stringify(body) });
  },
};`;

/**
 * Runs the example's bundle in workerd, with the program's queues, on a loopback socket. Also returns
 * its log.
 */
export async function startWorker({ target, replay = false, maxRetries = 2 }: StartOptions) {
  const consumer = { maxBatchSize: 5, maxBatchTimeout: 0, maxRetries };
  const graveyard = {
    ...describeModule("graveyard", GRAVEYARD),
    bindings: { URL: `${target}/dead-letters` },
    queueConsumers: { "dead-letters": consumer },
  };
  const receiver = {
    ...describeModule("receiver", await bundleWorker()),
    bindings: { DEAD_LETTER_QUEUE: "dead-letters", ...bindWorkspaces(target) },
    queueProducers: { DELIVERIES: "deliveries", DEAD_LETTERS: "dead-letters" },
    queueConsumers: {
      deliveries: { ...consumer, deadLetterQueue: "dead-letters" },
      ...(replay ? { "dead-letters": consumer } : {}),
    },
  };
  const logs: string[] = [];
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: 0,
      cf: false,
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: ({ message }) => void logs.push(message),
      workers: replay ? [receiver] : [receiver, graveyard],
    }),
  );
  return { url: (await worker.ready).origin, logs, close: () => worker.dispose() };
}

function describeModule(name: string, contents: string) {
  const modules = [{ type: "ESModule" as const, path: `${name}.js`, contents }];
  return { name, modules, compatibilityDate: "2026-10-01" };
}

function bindWorkspaces(target: string): Record<string, string> {
  const workspaces = Object.keys(KEYS).map((name) => [
    `WORKSPACE_${name}`,
    JSON.stringify({ forwardTo: `${target}/${name}` }),
  ]);
  return { KEY_SEED: SEED, ROTATIONS: JSON.stringify(ROTATIONS), ...Object.fromEntries(workspaces) };
}

/** Bundles the Worker with the example's own function, as its program does. */
async function bundleWorker(): Promise<string> {
  // Not a static import: the example is a CommonJS program, which the tests' compiler options reject.
  const path = new URL("../../examples/cloudflare/bundle.ts", import.meta.url).href;
  const bundle = (await import(/* @vite-ignore */ path)) as { bundleWorker(): string };
  return bundle.bundleWorker();
}

export type Target = Awaited<ReturnType<typeof startTarget>>;

/** A real HTTP server that accepts forwarded deliveries, on a free port unless one is given. */
export async function startTarget(port?: number) {
  /** The next responses, in order; all later ones have the status 200. */
  const answers: { status: number; headers?: Record<string, string> }[] = [];
  const server = await startServer(
    ({ path }, response) => {
      const next = path === "/dead-letters" ? undefined : answers.shift();
      const { status, headers } = next ?? { status: 200 };
      response.writeHead(status, headers).end("the target's answer");
    },
    port === undefined ? {} : { port },
  );
  return { ...server, arrivals: server.requests, answers };
}
