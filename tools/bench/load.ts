/** What the responder and the emulator do under load. */
import autocannon from "autocannon";
import { execa } from "execa";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readInstance } from "../../dist/provider/server/control-client.js";
import { startListener } from "../../test/support/http.ts";
import { HOSTILE_BODIES } from "../../test/support/hostile-bodies.ts";
import { startServer, VERIFICATION_KEY, type Child, type RelayReport, type ServerReport } from "./child.ts";
import { alternate, quantile, timeOf, type Context, type Samples } from "./measure.ts";

interface Load {
  amount: number;
  connections?: number;
  body?: string;
  headers?: Record<string, string>;
  /** Body by the number of the connection. */
  bodyOf?: (connection: number) => string;
}

const message = { sender_id: "7", conv_id: 1, type: "text", message_type: "outgoing", private: false };
const DELIVERY = JSON.stringify({ ...message, text: "x".repeat(930) });
const SIGNATURE = createHmac("sha256", VERIFICATION_KEY).update(DELIVERY).digest("hex");
const SIGNED = { "x-hub-signature-256": `sha256=${SIGNATURE}`, "x-flow-ns": "f0", "x-action": "messages" };

/** Posts over keep-alive connections, by default signed deliveries of 1 KiB. Throws if one of them is not answered with 2xx. */
async function send(
  url: string,
  { amount, connections = 50, body = DELIVERY, headers = SIGNED, bodyOf }: Load,
): Promise<{ rate: number; p99: number }> {
  const times: number[] = [];
  let count = 0;
  const setupClient = (client: autocannon.Client): void => {
    if (bodyOf) client.setBody(bodyOf((count += 1)));
  };
  const options = { url, method: "POST", amount, connections, body, setupClient } as const;
  const milliseconds = await timeOf(async () => {
    const all = { "content-type": "application/json", ...headers };
    const { errors, non2xx } = await new Promise<autocannon.Result>((resolve, reject) => {
      const run = autocannon({ ...options, headers: all }, (error: Error | null, result) =>
        error ? reject(error) : resolve(result),
      );
      run.on("response", (_client, _status, _bytes, ms) => times.push(ms));
    });
    if (errors + non2xx > 0) throw new Error(`${errors} errors, ${non2xx} responses that are not 2xx`);
  });
  return { rate: (amount * 1000) / milliseconds, p99: quantile(times, 0.99) };
}

/** The responder, and the least that a receiver must do. */
export async function compareResponder(context: Context): Promise<Samples> {
  await using ours = await startServer("responder");
  await using bare = await startServer("bare");
  const sides = {
    ours: () => send(ours.ready.url, { amount: 10_000 }),
    bare: () => send(bare.ready.url, { amount: 10_000 }),
  };
  const results = Object.entries(await alternate(context, sides, { rounds: 15, warmUp: 2 }));
  const samplesOf = (key: "rate" | "p99") =>
    results.map(([side, turns]) => [`${side} ${key}`, turns.map((turn) => turn[key])] as const);
  return Object.fromEntries([...samplesOf("rate"), ...samplesOf("p99")]);
}

/** Whether the responder keeps anything of the deliveries that it has answered. */
export async function growHeap({ update, signal }: Context): Promise<Samples> {
  await using server = await startServer("responder", "", ["--expose-gc"]);
  const heapAfter = async (from: number, to: number): Promise<number> => {
    for (let sent = from; sent < to; sent += 10_000) {
      signal.throwIfAborted();
      update(`${sent} deliveries`);
      await send(server.ready.url, { amount: 10_000 });
    }
    return (await server.ask()).heapBytes;
  };
  return { bare: [await heapAfter(0, 10_000)], ours: [await heapAfter(10_000, 200_000)] };
}

/** What a sender without a key can make the responder compute: the worst of the shapes. */
export async function refuseBodies(context: Context): Promise<Samples> {
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

/** What a server computes for some requests with this body, in milliseconds. */
async function cpuOf(server: Child<ServerReport>, body: string): Promise<number> {
  const { cpuMs } = await server.ask();
  // Well written and of no key, so that the whole body is hashed before it is refused.
  const headers = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };
  for (let left = 20; left > 0; left -= 1) {
    const response = await fetch(server.ready.url, { method: "POST", headers, body });
    await response.arrayBuffer();
    if (response.status !== 401) throw new Error(`a hostile body was answered with ${response.status}`);
  }
  return (await server.ask()).cpuMs - cpuMs;
}

/** `apichat responder` in a process of its own, for one workspace that keeps what arrives, with its spool in a temporary folder. */
async function startResponderProgram(signal: AbortSignal) {
  await using unfinished = new AsyncDisposableStack();
  const { path: folder } = unfinished.use(await mkdtempDisposable(join(tmpdir(), "pulumi-apichat-bench-")));
  const dataDir = join(folder, "data");
  const workspaces = { bench: { verificationKeys: [VERIFICATION_KEY], path: "/" } };
  const configFile = join(folder, "config.json");
  await writeFile(configFile, JSON.stringify({ port: 0, dataDir, workspaces }), { mode: 0o600 });
  const program = fileURLToPath(new URL("../../dist/provider/cli/main.js", import.meta.url));
  const options = { reject: false, cancelSignal: signal, stdio: ["ignore", "ignore", "pipe"] } as const;
  const child = execa(process.execPath, [program, "responder", "--config", configFile], options);
  unfinished.defer(async () => void (child.kill("SIGTERM"), await child));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(20_000)]);
  let instance = await readInstance(dataDir);
  for (; !instance; instance = await readInstance(dataDir)) await delay(50, undefined, { signal: limit });
  const started = unfinished.move();
  const url = `http://${instance.host}:${instance.port}/`;
  return { url, folder, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

const rateAt = (url: string) => async () => (await send(url, { amount: 5000 })).rate;

/** What shared commits gain: the whole program with its spool against one commit a request. */
export async function compareSpool(context: Context): Promise<Samples> {
  await using ours = await startResponderProgram(context.signal);
  // Beside the other spool, so that both are on the same disk.
  await using bare = await startServer("sqlite", join(ours.folder, "bare.sqlite"));
  return await alternate(
    context,
    { ours: rateAt(ours.url), bare: rateAt(bare.ready.url) },
    { rounds: 9, warmUp: 1 },
  );
}

/** Whether senders that are slow on purpose delay the others, and whether they are ended. */
export async function resistSlow({ signal, update }: Context): Promise<Samples> {
  await using responder = await startResponderProgram(signal);
  const { url } = responder;
  const measureP99s = async (rounds: number): Promise<number[]> => {
    const turns = [];
    while (turns.length < rounds) turns.push((await send(url, { amount: 2000, connections: 10 })).p99);
    return turns;
  };
  await measureP99s(1);
  const alone = quantile(await measureP99s(5), 0.5);
  update("opening the slow connections");
  const slow = Array.from({ length: 1000 }, (_, index) => openSlowly(url, index % 2 === 1));
  using sockets = new DisposableStack();
  for (const socket of slow) sockets.adopt(socket, () => socket.destroy());
  await Promise.all(slow.map((socket) => once(socket, "connect")));
  const ours = await measureP99s(5);
  const open = slow.filter(({ closed }) => !closed);
  if (open.length < slow.length) throw new Error(`only ${open.length} slow connections were still open`);
  update("waiting until the program has ended the slow connections");
  const limit = AbortSignal.any([signal, AbortSignal.timeout(90_000)]);
  await Promise.all(open.map((socket) => once(socket, "close", { signal: limit })));
  return { ours, bare: ours.map(() => alone) };
}

/** Sends headers without end, or a body: one byte a second. */
function openSlowly(url: string, isBody: boolean): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = "POST / HTTP/1.1\r\nhost: localhost\r\n";
  socket.write(isBody ? `${head}content-length: 1024\r\n\r\n` : `${head}x-slow: `);
  const timer = setInterval(() => socket.write("x"), 1000);
  socket.resume();
  socket.once("close", () => clearInterval(timer));
  // A reset is an end too.
  return socket.on("error", () => socket.destroy());
}

const messageOf = (conversation_id: number): string => {
  const person = { id: "7", name: "Ana", email: "", phone_number: "", type: "contact" };
  const text = { content: "Where is my parcel?", message_type: "incoming", event: "message_created" };
  return JSON.stringify({ ...text, sender: person, conversation_id });
};

/** A message in and a signed reply out, in 64 conversations: until the last reply has arrived. */
export async function converse(context: Context): Promise<Samples> {
  const amount = 3000;
  let replies = 0;
  let all = Promise.withResolvers<void>();
  const endpoint = await startListener((request, response) => {
    request.resume().once("end", () => {
      response.writeHead(200, { "content-length": 0 }).end();
      replies += 1;
      if (replies === amount) all.resolve();
    });
  });
  await using resources = new AsyncDisposableStack();
  resources.defer(() => endpoint.close());
  const rateOf =
    ({ url, flowApiKey }: RelayReport) =>
    async (): Promise<number> => {
      replies = 0;
      all = Promise.withResolvers<void>();
      const headers = { authorization: `Bearer ${flowApiKey}` };
      const load = { amount, connections: 64, body: messageOf(0), headers, bodyOf: messageOf };
      return 1000 / (await timeOf(() => Promise.all([send(url, load), all.promise])));
    };
  await using ours = await startServer<RelayReport>("emulator", endpoint.url);
  await using bare = await startServer<RelayReport>("relay", endpoint.url);
  const sides = { ours: rateOf(ours.ready), bare: rateOf(bare.ready) };
  return await alternate(context, sides, { rounds: 15, warmUp: 2 });
}
