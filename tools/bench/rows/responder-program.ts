import { execa } from "execa";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createRedactor } from "../../../dist/provider/lib/redact.js";
import { readInstance } from "../../../dist/provider/server/control-client.js";
import { createLog } from "../../../dist/provider/server/log.js";
import { startServer, VERIFICATION_KEY } from "../child.ts";
import { sendDeliveries } from "../load.ts";
import { compare, median, ratio, summarize, timeOf, type Row } from "../measure.ts";

const program = fileURLToPath(new URL("../../../dist/provider/cli/main.js", import.meta.url));
const START_LIMIT_MS = 20_000;

/** `apichat responder` in a process of its own, with its spool in a temporary folder. */
interface ResponderProgram extends AsyncDisposable {
  /** The webhook URL of its only workspace. */
  url: string;
  /** The folder of the spool. */
  folder: string;
}

/** Starts the program for one workspace that keeps what arrives. */
async function startResponderProgram(signal: AbortSignal): Promise<ResponderProgram> {
  await using unfinished = new AsyncDisposableStack();
  const { path: folder } = unfinished.use(await mkdtempDisposable(join(tmpdir(), "pulumi-apichat-bench-")));
  const dataDir = join(folder, "data");
  const workspaces = { bench: { verificationKeys: [VERIFICATION_KEY], path: "/" } };
  const configFile = join(folder, "config.json");
  await writeFile(configFile, JSON.stringify({ port: 0, dataDir, workspaces }), { mode: 0o600 });
  const child = execa(process.execPath, [program, "responder", "--config", configFile], {
    reject: false,
    cancelSignal: signal,
    stdio: ["ignore", "ignore", "pipe"],
  });
  unfinished.defer(async () => {
    child.kill("SIGTERM");
    await child;
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
  let instance = await readInstance(dataDir);
  while (!instance) {
    await delay(50, undefined, { signal: limit });
    instance = await readInstance(dataDir);
  }
  const started = unfinished.move();
  const url = `http://${instance.host}:${instance.port}/`;
  return { url, folder, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** What shared commits gain: the whole program with its spool against one commit a request. */
const spoolRow: Row = {
  name: "spool",
  title: "apichat responder with its spool against one commit a request: about 30 seconds",
  measure: async (context) => {
    await using ours = await startResponderProgram(context.signal);
    // Beside the other spool, so that both are on the same disk.
    await using bare = await startServer("sqlite", join(ours.folder, "bare.sqlite"));
    const connections = 50;
    const send = (url: string) => async (): Promise<number> =>
      (await sendDeliveries(url, { count: 5000, connections, signal: context.signal })).ratePerSecond;
    const measurement = await compare(context, {
      what: `apichat responder with spool, 1 KiB, ${connections} connections (rate)`,
      against: "node:http and node:sqlite, one commit a request",
      target: { atLeast: 2 },
      combine: ratio,
      ours: send(ours.url),
      bare: send(bare.ready.url),
      rounds: 9,
      warmUpRounds: 1,
    });
    return [measurement];
  },
};

const KEYS = 2000;
const LINES = 2000;

const repeat = (work: () => void) => (): Promise<number> =>
  timeOf(() => {
    for (let line = 0; line < LINES; line += 1) work();
  });

/** What the redaction of many keys adds to a line of the responder's log. */
const logLineRow: Row = {
  name: "log-line",
  title: `A line of the responder's log with ${KEYS} keys: a few seconds`,
  measure: async (context) => {
    /** As a target may answer; where the log shows it, the keys are taken out. */
    const fields = {
      workspace: "workspace-0001",
      id: "1d0ad9b8-5a4e-4c73-9d1b-6f5f9a3c2f11",
      error: "connect ECONNREFUSED 127.0.0.1:3000, after 1 attempt to reach the target of the workspace",
    };
    let written = 0;
    const keys = Array.from({ length: KEYS }, () => randomBytes(32).toString("base64url"));
    const log = createLog((line) => (written += line.length), createRedactor(keys));
    const measurement = await compare(context, {
      what: `a log line, redacted for ${KEYS} keys (time)`,
      against: "JSON.stringify of it",
      target: { atMost: 20 },
      combine: ratio,
      ours: repeat(() => log.warn("not forwarded", fields)),
      bare: repeat(() => {
        const line = { time: new Date().toISOString(), level: "warn", event: "not forwarded", ...fields };
        written += JSON.stringify(line).length;
      }),
      rounds: 101,
      warmUpRounds: 20,
    });
    if (written === 0) throw new Error("nothing was written");
    return [measurement];
  },
};

const SLOW_CONNECTIONS = 1000;
const BYTE_EVERY_MS = 1000;
/** The program's own limits must have ended every slow connection by then. */
const ENDED_WITHIN_MS = 90_000;

/** Whether senders that are slow on purpose hold up the others, and whether they are ended. */
const slowConnectionsRow: Row = {
  name: "slow",
  title: `${SLOW_CONNECTIONS} slow connections: about 80 seconds`,
  measure: async ({ signal, update }) => {
    await using responder = await startResponderProgram(signal);
    const { url } = responder;
    const measureP99s = async (rounds: number): Promise<number[]> => {
      const values: number[] = [];
      while (values.length < rounds) {
        values.push((await sendDeliveries(url, { count: 2000, connections: 10, signal })).p99Ms);
      }
      return values;
    };
    await measureP99s(1);
    const alone = median(await measureP99s(5));
    update("opening the slow connections");
    const slow = Array.from({ length: SLOW_CONNECTIONS }, (_, index) => openSlowly(url, index % 2 === 1));
    using sockets = new DisposableStack();
    for (const socket of slow) sockets.adopt(socket, () => socket.destroy());
    await Promise.all(slow.map((socket) => once(socket, "connect")));
    const beside = await measureP99s(5);
    const open = slow.filter(({ closed }) => !closed);
    if (open.length < SLOW_CONNECTIONS) {
      throw new Error(`only ${open.length} slow connections were open during the measurement`);
    }
    update("waiting until the program has ended the slow connections");
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ENDED_WITHIN_MS)]);
    await Promise.all(open.map((socket) => once(socket, "close", { signal: limit })));
    const claim = {
      what: `p99 of a delivery beside ${SLOW_CONNECTIONS} slow connections, which are ended`,
      against: "without them",
      target: { atMost: 2 },
      combine: ratio,
    };
    return [summarize(claim, { ours: beside, bare: beside.map(() => alone) })];
  },
};

/** Sends headers without end, or a body: one byte a second. */
function openSlowly(url: string, isBody: boolean): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = "POST / HTTP/1.1\r\nhost: localhost\r\n";
  socket.write(isBody ? `${head}content-length: 1024\r\n\r\n` : `${head}x-slow: `);
  const timer = setInterval(() => socket.write("x"), BYTE_EVERY_MS);
  socket.resume();
  socket.once("close", () => clearInterval(timer));
  // A reset is an end too.
  socket.on("error", () => socket.destroy());
  return socket;
}

export const responderProgramRows = [logLineRow, spoolRow, slowConnectionsRow];
