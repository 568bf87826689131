/** Floods `apichat responder` with deliveries; its target accepts each one immediately. */
import { execaNode } from "execa";
import { createHmac } from "node:crypto";
import { mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHistogram } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { interceptors, Pool } from "undici";
import { requestReload } from "../../dist/provider/server/control-client.js";
import { readInstance } from "../../dist/provider/server/data-dir.js";
import { findSpool } from "../../dist/provider/server/spool/file.js";
import { startServer, VERIFICATION_KEY } from "../bench/servers.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/provider/cli/main.js", import.meta.url));
const BLOCKS = new URL("blocks.ts", import.meta.url);

const CONNECTIONS = 50;
/** Each connection sends to this many conversations in turn, and waits for a response before it sends again. */
const CONVERSATIONS = 100;
const MESSAGE = {
  sender_id: "7",
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "x".repeat(900),
};

export interface FloodOptions {
  /** Whether the responder forwards. */
  forwards: boolean;
  signal: AbortSignal;
  /** Kills and restarts the responder at this interval, and sends unanswered requests again. */
  killEveryMs?: number;
  /** The number of workspaces in addition to the one that receives the deliveries. Default 0. */
  others?: number;
  /** Reloads the configuration at this interval. */
  reloadEveryMs?: number;
}

/** Sends this many deliveries of 1 KiB, waits until they are forwarded if `forwards` is set, and measures. */
export async function flood(count: number, options: FloodOptions) {
  const { forwards, signal, killEveryMs, reloadEveryMs } = options;
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), "apichat-flood-")));
  const [dataDir, blocksFile] = [join(folder, "data"), join(folder, "blocks")];
  const target = stack.use(startServer("target"));
  const { url: forwardTo } = await target.ask();
  const startResponder = async (port: number) => {
    const configFile = join(folder, "config.json");
    const config = { port, dataDir, workspaces: workspacesFor(options, forwardTo) };
    await writeFile(configFile, JSON.stringify(config), { mode: 0o600 });
    const child = execaNode(PROGRAM, ["responder", "--config", configFile], {
      cancelSignal: signal,
      reject: false,
      nodeOptions: [`--import=${BLOCKS.href}`],
      env: { BLOCKS_FILE: blocksFile },
    });
    const end = async (): Promise<void> => void (child.kill(), await child);
    stack.defer(end);
    for (;;) {
      const instance = await readInstance(dataDir);
      if (instance && instance.pid === child.pid) return { child, end, instance };
      await delay(50, undefined, { signal });
    }
  };
  let responder = await startResponder(0);
  const { port } = responder.instance;
  let kills = 0;
  const kill = async (): Promise<void> => {
    responder.child.kill("SIGKILL");
    await responder.child;
    kills += 1;
    responder = await startResponder(port);
  };
  const isWaiting = (): boolean => {
    const spool = findSpool(dataDir);
    const { pending = 0 } = spool?.counts().get("acme") ?? {};
    spool?.close();
    return forwards && pending > 0;
  };

  const begunMs = performance.now();
  // Stops the kills and reloads when everything is sent, and all three when one fails.
  const over = new AbortController();
  const stop = (): void => over.abort();
  const url = `http://127.0.0.1:${port}/acme`;
  const sending = { signal: AbortSignal.any([signal, over.signal]), repeats: killEveryMs !== undefined };
  const [microseconds] = await Promise.all([
    sendAll(url, count, sending).finally(stop),
    repeat(killEveryMs, kill, over.signal),
    repeat(reloadEveryMs, () => requestReload(responder.instance), over.signal),
  ]).finally(stop);
  const tookMs = performance.now() - begunMs;
  const { arrived } = await target.ask();
  const files = await Promise.all(["", "-wal"].map((end) => stat(join(dataDir, `spool.sqlite${end}`))));
  while (isWaiting()) await delay(50, undefined, { signal });
  const throughMs = performance.now() - begunMs;
  const done = await target.ask();
  const memoryMib = await peakOf(responder.instance.pid);
  await responder.end();
  return {
    /** Rates per second: until the last delivery was accepted; for `through`, until the last one was forwarded. */
    accepted: (count * 1000) / tookMs,
    forwarded: (arrived * 1000) / tookMs,
    through: (count * 1000) / throughMs,
    behind: count - arrived,
    p99Ms: microseconds.percentile(99) / 1000,
    /** The longest time for which the responder's event loop was blocked. */
    blockMs: Number(await readFile(blocksFile, "utf8")),
    memoryMib,
    fileMib: files.reduce((sum, { size }) => sum + size, 0) / 2 ** 20,
    lost: count - done.arrived,
    early: done.early,
    repeated: done.repeated,
    kills,
  };
}

function workspacesFor({ forwards, others = 0 }: FloodOptions, forwardTo: string): object {
  const workspace = { verificationKeys: [VERIFICATION_KEY], ...(forwards && { forwardTo }) };
  const names = Array.from({ length: others }, (_, index) => `other-${index}`);
  return Object.fromEntries(["acme", ...names].map((name) => [name, workspace]));
}

/** Repeats the work at the interval, if there is one, until the signal fires. */
async function repeat(everyMs: number | undefined, work: () => Promise<unknown>, until: AbortSignal) {
  if (everyMs === undefined) return;
  for (;;) {
    await delay(everyMs, undefined, { signal: until }).catch(() => undefined);
    if (until.aborted) return;
    await work();
  }
}

/**
 * Sends this many deliveries of 1 KiB. Returns the histogram of their durations in microseconds. Rejects unless every
 * response is 200. With `repeats`, sends a delivery again if its connection breaks or the responder is not available.
 */
export async function sendAll(
  url: string,
  count: number,
  options: { signal: AbortSignal; repeats?: boolean },
) {
  const { signal, repeats = false } = options;
  await using stack = new AsyncDisposableStack();
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections: CONNECTIONS });
  stack.defer(() => pool.destroy());
  const pauses = { minTimeout: 50, maxTimeout: 50 };
  const repeating = interceptors.retry({ methods: ["POST"], maxRetries: 10_000, ...pauses });
  const dispatcher = repeats ? pool.compose(repeating) : pool;
  const microseconds = createHistogram();
  let sent = 0;
  const send = async (connection: number): Promise<void> => {
    for (let own = 0; sent++ < count; own += 1) {
      const conversation = connection * CONVERSATIONS + (own % CONVERSATIONS) + 1;
      const body = JSON.stringify({ ...MESSAGE, conv_id: conversation });
      const headers = {
        "x-hub-signature-256": `sha256=${createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex")}`,
        "x-action": "messages",
        "x-conversation": String(conversation),
        "x-number": String(Math.floor(own / CONVERSATIONS)),
      };
      const begun = performance.now();
      const response = await dispatcher.request({ path, method: "POST", headers, body, signal });
      await response.body.dump();
      if (response.statusCode !== 200)
        throw new Error(`the response to a delivery was HTTP ${response.statusCode}`);
      microseconds.record(Math.ceil((performance.now() - begun) * 1000));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => send(connection)));
  return microseconds;
}

/** Reads the peak memory of a process from /proc, in MiB. */
async function peakOf(pid: number): Promise<number> {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) / 1024;
}
