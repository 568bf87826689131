/** Measures the responder under load. */
import autocannon from "autocannon";
import { createHmac } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flood, sendAll, type Flood } from "../million/flood.ts";
import { HOSTILE_BODIES } from "./hostile-bodies.ts";
import {
  KEY_SEED,
  ROTATIONS,
  startServer,
  VERIFICATION_KEY,
  workspaceNames,
  type Child,
  type ServerReport,
} from "./child.ts";
import { alternate, quantile, timeOf, type Context, type Samples } from "./measure.ts";

const message = { sender_id: "7", conv_id: 1, type: "text", message_type: "outgoing", private: false };
const DELIVERY = JSON.stringify({ ...message, text: "x".repeat(930) });
const SIGNATURE = createHmac("sha256", VERIFICATION_KEY).update(DELIVERY).digest("hex");
const SIGNED = { "x-hub-signature-256": `sha256=${SIGNATURE}`, "x-flow-ns": "f0", "x-action": "messages" };

/** The p99 in milliseconds, and the CPU time of the server: a rate would also measure the sender on its two cores. */
interface Load {
  p99: number;
  cpu: number;
}

/** Posts 10,000 signed deliveries of 1 KiB over 50 keep-alive connections. Throws if a response is not 2xx. */
async function send(server: Child<ServerReport>): Promise<Load> {
  const times: number[] = [];
  const headers = { "content-type": "application/json", ...SIGNED };
  const common = { method: "POST", amount: 10_000, connections: 50, body: DELIVERY, headers } as const;
  const options = { url: server.ready.url, ...common };
  const { cpuMs } = await server.ask();
  const { errors, non2xx } = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(options, (error: Error | null, result) =>
      error ? reject(error) : resolve(result),
    );
    run.on("response", (_client, _status, _bytes, ms) => times.push(ms));
  });
  if (errors + non2xx > 0) throw new Error(`${errors} errors, ${non2xx} responses that are not 2xx`);
  return { p99: quantile(times, 0.99), cpu: (await server.ask()).cpuMs - cpuMs };
}

/** Compares the responder with the minimum that a receiver must do. */
export async function compareResponder(context: Context): Promise<Samples> {
  await using ours = await startServer("responder");
  await using bare = await startServer("bare");
  const sides = { ours: () => send(ours), bare: () => send(bare) };
  const results = Object.entries(await alternate(context, sides, { rounds: 15, warmUp: 2 }));
  const samplesOf = (key: keyof Load) =>
    results.map(([side, turns]) => [`${side} ${key}`, turns.map((turn) => turn[key])] as const);
  return Object.fromEntries([...samplesOf("cpu"), ...samplesOf("p99")]);
}

/** Measures the CPU time of the most expensive body from a sender without a key. */
export async function rejectBodies(context: Context): Promise<Samples> {
  await using ours = await startServer("responder");
  await using reader = await startServer("reader");
  const all: Samples[] = [];
  for (const [shape, body] of Object.entries(HOSTILE_BODIES)) {
    const update = (detail: string): void => context.update(`${shape}, ${detail}`);
    const sides = { ours: () => cpuOf(ours, body), bare: () => cpuOf(reader, body) };
    all.push(await alternate({ ...context, update }, sides, { rounds: 9, warmUp: 1 }));
  }
  return all.toSorted((one, other) => costOf(other) - costOf(one))[0] ?? {};
}

const costOf = ({ ours = [], bare = [] }: Samples): number => quantile(ours, 0.5) / quantile(bare, 0.5);

/** Returns the CPU time of a server for some requests with this body, in milliseconds. */
async function cpuOf(server: Child<ServerReport>, body: string): Promise<number> {
  const { cpuMs } = await server.ask();
  // A valid header with the wrong signature, so that the whole body is hashed before it is rejected.
  const headers = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };
  for (let left = 20; left > 0; left -= 1) {
    const response = await fetch(server.ready.url, { method: "POST", headers, body });
    await response.arrayBuffer();
    if (response.status !== 401) throw new Error(`the response to a hostile body was ${response.status}`);
  }
  return (await server.ask()).cpuMs - cpuMs;
}

/** Measures the first request to a path without a workspace, with many workspaces and with one, in milliseconds. */
export function compareStrangers(context: Context): Promise<Samples> {
  const sides = { ours: () => timeStranger(30_000), bare: () => timeStranger(1) };
  return alternate(context, sides, { rounds: 9, warmUp: 1 });
}

async function timeStranger(workspaces: number): Promise<number> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "apichat-bench-"));
  const file = join(folder.path, "config.json");
  const listed = Object.fromEntries(workspaceNames(workspaces).map((name) => [name, {}]));
  const derived = { derivedFrom: KEY_SEED, rotations: ROTATIONS };
  const config = { port: 0, dataDir: "data", workspaces: listed, ...derived };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  await using responder = await startServer("program", file);
  const ask = async (path: string): Promise<string> => (await fetch(responder.ready.url + path)).text();
  // Opens the connection.
  await ask("/readyz");
  return await timeOf(() => ask("/robots.txt"));
}

const FLOOD = 20_000;

/** Measures the whole program with its spool: storing only, and also forwarding to a target that responds at once. */
export async function compareForwarding(context: Context): Promise<Samples> {
  const { signal } = context;
  await using server = await startServer("bare");
  const sendToBare = (): Promise<unknown> => sendAll(server.ready.url, FLOOD, { signal });
  const sides = {
    stored: () => flood(FLOOD, { forwards: false, signal }),
    both: () => flood(FLOOD, { forwards: true, signal }),
    bare: async () => ({ acceptedPerSecond: (FLOOD * 1000) / (await timeOf(sendToBare)) }),
  };
  const runs: Record<string, Partial<Flood>[]> = await alternate<Partial<Flood>>(context, sides, {
    rounds: 5,
    warmUp: 1,
  });
  const valuesOf = (
    side: string,
    key: "acceptedPerSecond" | "forwardedPerSecond" | "throughPerSecond" | "blockMs",
  ) => (runs[side] ?? []).map((run) => run[key] ?? Number.NaN);
  return {
    bare: valuesOf("bare", "acceptedPerSecond"),
    stored: valuesOf("stored", "acceptedPerSecond"),
    accepted: valuesOf("both", "acceptedPerSecond"),
    forwarded: valuesOf("both", "forwardedPerSecond"),
    through: valuesOf("both", "throughPerSecond"),
    block: valuesOf("both", "blockMs"),
  };
}

/** Measures the p99 of deliveries with and without reloads of 30,000 other workspaces, in milliseconds. */
export function reloadUnderLoad(context: Context): Promise<Samples> {
  const run = (reloadEveryMs?: number) => async () =>
    (await flood(FLOOD, { forwards: true, signal: context.signal, others: 30_000, reloadEveryMs })).p99Ms;
  return alternate(context, { ours: run(1_000), bare: run() }, { rounds: 5, warmUp: 1 });
}
