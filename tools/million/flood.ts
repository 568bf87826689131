/** `apichat responder` under a flood of deliveries, before a target that takes each at once. */
import { execaNode } from "execa";
import { createHmac } from "node:crypto";
import { mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHistogram } from "node:perf_hooks";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { readInstance, requestStatus } from "../../dist/provider/server/control-client.js";
import type { Arrivals } from "./target.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/provider/cli/main.js", import.meta.url));
const TARGET = new URL("target.ts", import.meta.url);
const KEY = "verification-key-of-the-flood-0123456789abcdef";
const CONNECTIONS = 50;
/** Of each connection, in turn. A delivery is sent when the one before it is answered. */
const CONVERSATIONS = 100;
const MESSAGE = {
  sender_id: "7",
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "x".repeat(900),
};
const MIB = 1024 * 1024;

interface FloodOptions {
  /** Whether the responder forwards. */
  forwards: boolean;
  signal: AbortSignal;
  /** Kills the responder this often, and starts it again. What it has not answered by then is sent again. */
  killEveryMs?: number | undefined;
}

/** Sends this many deliveries of 1 KiB, waits until the responder has forwarded them where it does, and measures. */
export async function flood(count: number, { forwards, signal, killEveryMs }: FloodOptions) {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), "apichat-flood-")));
  const [dataDir, configFile] = [join(folder, "data"), join(folder, "config.json")];
  const start = (file: string | URL, args: string[] = []) => {
    const child = execaNode(file, args, { ipc: true, cancelSignal: signal, reject: false });
    stack.defer(async () => void (child.kill("SIGTERM"), await child));
    return child;
  };
  const port = (await start(TARGET).getOneMessage()) as number;
  const forwardTo = `http://127.0.0.1:${port}/`;
  const acme = { verificationKeys: [KEY], ...(forwards && { forwardTo }) };
  const startResponder = async (ownPort: number) => {
    const config = { port: ownPort, dataDir, workspaces: { acme } };
    await writeFile(configFile, JSON.stringify(config), { mode: 0o600 });
    const child = start(PROGRAM, ["responder", "--config", configFile]);
    for (;;) {
      const instance = await readInstance(dataDir);
      if (instance && instance.pid === child.pid) return { child, instance };
      await delay(50, undefined, { signal });
    }
  };
  let responder = await startResponder(0);
  const { instance } = responder;
  let kills = 0;
  const killUntil = async (sent: AbortSignal): Promise<void> => {
    if (killEveryMs === undefined) return;
    for (;;) {
      await delay(killEveryMs, undefined, { signal: sent }).catch(() => undefined);
      if (sent.aborted) return;
      responder.child.kill("SIGKILL");
      await responder.child;
      kills += 1;
      responder = await startResponder(instance.port);
    }
  };

  const pool = new Pool(`http://127.0.0.1:${instance.port}`, { connections: CONNECTIONS });
  stack.defer(() => pool.destroy());
  const microseconds = createHistogram();
  let sent = 0;
  const send = async (connection: number): Promise<void> => {
    for (let own = 0; sent++ < count; own += 1) {
      const conversation = connection * CONVERSATIONS + (own % CONVERSATIONS) + 1;
      const body = JSON.stringify({ ...MESSAGE, conv_id: conversation });
      const headers = {
        "x-hub-signature-256": `sha256=${createHmac("sha256", KEY).update(body).digest("hex")}`,
        "x-action": "messages",
        "x-conversation": String(conversation),
        "x-number": String(Math.floor(own / CONVERSATIONS)),
      };
      const begun = performance.now();
      for (;;) {
        try {
          const answer = await pool.request({ path: "/acme", method: "POST", headers, body, signal });
          await answer.body.dump();
          if (answer.statusCode !== 200) throw new Error(`a delivery was answered with ${answer.statusCode}`);
          break;
        } catch (error) {
          if (killEveryMs === undefined || signal.aborted) throw error;
          await delay(50, undefined, { signal });
        }
      }
      microseconds.record(Math.ceil((performance.now() - begun) * 1000));
    }
  };
  const look = async () => {
    const arrivals = (await (await fetch(forwardTo)).json()) as Arrivals;
    const usage = await usageOf(responder.instance.pid);
    return { ...arrivals, atMs: performance.now(), own: process.cpuUsage(), responder: usage };
  };
  const isWaiting = async () =>
    forwards && (await requestStatus(responder.instance))?.workspaces["acme"]?.pending !== 0;
  const before = await look();
  const allSent = new AbortController();
  const killing = killUntil(allSent.signal);
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => send(connection)));
  allSent.abort();
  await killing;
  const accepted = await look();
  const files = await Promise.all(["", "-wal"].map((end) => stat(join(dataDir, `spool.sqlite${end}`))));
  while (await isWaiting()) await delay(50, undefined, { signal });
  const done = await look();
  const tookMs = accepted.atMs - before.atMs;
  return {
    acceptedPerSecond: (count * 1000) / tookMs,
    /** Until the last one was accepted, and until the last one was forwarded. */
    forwardedPerSecond: (accepted.arrived * 1000) / tookMs,
    throughPerSecond: (count * 1000) / (done.atMs - before.atMs),
    behind: count - accepted.arrived,
    p50Ms: microseconds.percentile(50) / 1000,
    p99Ms: microseconds.percentile(99) / 1000,
    memoryMib: done.responder.peakBytes / MIB,
    fileMib: files.reduce((sum, { size }) => sum + size, 0) / MIB,
    lost: count - done.arrived,
    early: done.early,
    repeated: done.repeated,
    kills,
    /** How many cores each process used while deliveries were accepted. */
    cores: {
      responder: (accepted.responder.cpuMs - before.responder.cpuMs) / tookMs,
      target: (accepted.cpuMs - before.cpuMs) / tookMs,
      sender: (accepted.own.user + accepted.own.system - before.own.user - before.own.system) / 1000 / tookMs,
    },
  };
}

/** CPU time so far, and the most memory that the process has had, by /proc. */
async function usageOf(pid: number): Promise<{ cpuMs: number; peakBytes: number }> {
  const [stats = "", status = ""] = await Promise.all(
    ["stat", "status"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8")),
  );
  const [user, system] = stats
    .slice(stats.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return { cpuMs: 10 * (Number(user) + Number(system)), peakBytes: 1024 * Number(kibibytes) };
}
