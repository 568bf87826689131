import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startEmulator, type FaultRule } from "../../dist/provider/emulator/index.js";
import { startGate } from "../unit/fleet/gate/harness.ts";

const API_KEY = "api-key-of-the-gate-test";
const dist = (module: string): string => new URL(`../../dist/provider/${module}`, import.meta.url).href;

/** Makes its calls at once, and says how each of them ended. */
const CALLER = `
  const { RegistrationClient } = await import(${JSON.stringify(dist("client/index.js"))});
  const { calls, ...options } = JSON.parse(process.argv[1]);
  const client = new RegistrationClient(options);
  const call = () => client.getWebhook().then(() => "ok", ({ code, message }) => code + ": " + message);
  console.log(JSON.stringify(await Promise.all(Array.from({ length: calls }, call))));
`;

/** The parent of a run: names its gate, and lives until it is killed. */
const PARENT = `
  const { startCallGate } = await import(${JSON.stringify(dist("fleet/gate/call-gate.js"))});
  const gate = await startCallGate({ callsPerOrigin: 1, most429: 100, onBudgetSpent: () => undefined });
  console.log(JSON.stringify(gate.environment));
`;

type NodeProcess = ChildProcessByStdio<null, Readable, null>;

function startNode(program: string, argument = "", environment: Record<string, string> = {}): NodeProcess {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, argument], {
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

interface Caller {
  child: NodeProcess;
  /** How each of its calls ended. Rejects if it ended without saying so. */
  results: Promise<string[]>;
}

function startCaller(baseUrl: string, calls: number, environment: Record<string, string>): Caller {
  const child = startNode(CALLER, JSON.stringify({ baseUrl, apiKey: API_KEY, calls }), environment);
  const results = text(child.stdout).then((said) => JSON.parse(said) as string[]);
  // A test that kills it does not ask.
  results.catch(() => undefined);
  return { child, results };
}

const startCallers = (count: number, ...caller: Parameters<typeof startCaller>): Caller[] =>
  Array.from({ length: count }, () => startCaller(...caller));

const resultsOf = async (callers: readonly Caller[]): Promise<string[]> =>
  (await Promise.all(callers.map(({ results }) => results))).flat();

interface Front {
  baseUrl: string;
  /** The most requests that were under way at once. */
  most: () => number;
  /** When each request came, and how it was answered at what time. */
  exchanges: { cameAt: number; answeredAt?: number; status?: number }[];
  /** Answers the requests that are held. */
  open: () => void;
}

/** The emulator, behind a server that sees how many requests are under way. It holds the first `hold` of them until opened. */
async function startFront({
  hold = 0,
  faults = [],
}: {
  hold?: number;
  faults?: FaultRule[];
}): Promise<Front> {
  const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: API_KEY }], faults });
  onTestFinished(() => emulator.close());
  const opened = Promise.withResolvers<void>();
  const exchanges: Front["exchanges"] = [];
  let now = 0;
  let most = 0;
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const exchange: Front["exchanges"][number] = { cameAt: Date.now() };
    const isHeld = exchanges.push(exchange) <= hold;
    most = Math.max(most, (now += 1));
    const body = await text(request);
    if (isHeld) await opened.promise;
    const url = new URL(request.url ?? "", emulator.url);
    const answer = await fetch(url, {
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
    });
    const said = await answer.text();
    now -= 1;
    Object.assign(exchange, { answeredAt: Date.now(), status: answer.status });
    passOn(answer, said, response);
  };
  const origin = await listen((request, response) => void forward(request, response));
  const baseUrl = emulator.workspace("acme").baseUrl.replace(emulator.url, origin);
  return { baseUrl, most: () => most, exchanges, open: opened.resolve };
}

function passOn({ status, headers }: Response, body: string, response: ServerResponse): void {
  const retryAfter = headers.get("retry-after");
  response.writeHead(status, retryAfter === null ? {} : { "retry-after": retryAfter }).end(body);
}

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const SLOW: FaultRule = { operation: "get-webhook", fault: { delayMs: 20 }, every: 1 };

describe("processes that share a gate", () => {
  test("never have more calls under way at once than it allows, and leave nothing on disk", async () => {
    const gate = await startGate({ callsPerOrigin: 5 });
    const { baseUrl, most } = await startFront({ faults: [SLOW] });
    const callers = startCallers(4, baseUrl, 25, gate.environment);
    expect(await resultsOf(callers)).toEqual(Array(100).fill("ok"));
    expect(most()).toBe(5);
    expect(gate.calls()).toEqual({ "get-webhook": 100 });
    const path = gate.environment["APICHAT_CALL_GATE"] ?? "";
    expect(existsSync(path)).toBe(true);
    await gate.close();
    expect(existsSync(dirname(path))).toBe(false);
  });

  test("all wait as long as a 429 to one of them asked", async () => {
    const gate = await startGate();
    const { baseUrl, exchanges } = await startFront({
      faults: [{ operation: "get-webhook", fault: { status: 429, retryAfterSeconds: 2 } }],
    });
    expect(await resultsOf(startCallers(3, baseUrl, 3, gate.environment))).toEqual(Array(9).fill("ok"));
    expect(exchanges.map(({ status }) => status)).toEqual([429, ...Array(9).fill(200)]);
    const [struck, next] = exchanges;
    expect((next?.cameAt ?? 0) - (struck?.answeredAt ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(gate.answers429()).toBe(1);
  });

  test("send nothing more when the budget of 429s is spent, and say why", async () => {
    const onBudgetSpent = vi.fn<() => void>();
    const gate = await startGate({ most429: 3, onBudgetSpent });
    const { baseUrl, exchanges } = await startFront({
      faults: [{ operation: "get-webhook", fault: { status: 429 }, every: 1 }],
    });
    const results = await resultsOf(startCallers(3, baseUrl, 4, gate.environment));
    expect(results).toEqual(
      Array(12).fill(
        `unavailable: get-webhook at ${baseUrl}: the service answered 3 calls with HTTP 429, which is the run's budget; ` +
          "wait, then go on with --resume, or raise --most-429",
      ),
    );
    expect(exchanges).toHaveLength(3);
    expect(gate.calls()).toEqual({ "get-webhook": 3 });
    expect(onBudgetSpent).toHaveBeenCalledOnce();
  });

  test("get the places of one that was killed", async () => {
    const gate = await startGate({ callsPerOrigin: 2 });
    const { baseUrl, exchanges } = await startFront({ hold: 2 });
    const killed = startCaller(baseUrl, 6, gate.environment);
    await vi.waitFor(() => expect(exchanges).toHaveLength(2), 20_000);
    const others = startCallers(2, baseUrl, 3, gate.environment);
    killed.child.kill("SIGKILL");
    expect(await resultsOf(others)).toEqual(Array(6).fill("ok"));
  });

  test("finish what they have begun when the process with the gate is killed", async () => {
    const parent = startNode(PARENT);
    const [announced] = (await once(createInterface(parent.stdout), "line")) as [string];
    const environment = JSON.parse(announced) as Record<string, string>;
    const folder = dirname(environment["APICHAT_CALL_GATE"] ?? "");
    onTestFinished(() => rm(folder, { recursive: true }));
    const front = await startFront({ hold: 1 });
    const callers = startCallers(2, front.baseUrl, 3, environment);
    await vi.waitFor(() => expect(front.exchanges).toHaveLength(1), 20_000);
    parent.kill("SIGKILL");
    // The first is still held: the others do not wait for its place any more.
    await vi.waitFor(() => expect(front.exchanges).toHaveLength(6), 20_000);
    front.open();
    expect(await resultsOf(callers)).toEqual(Array(6).fill("ok"));
  });
});
