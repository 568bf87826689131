import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { MessageClient } from "../../../provider/client/index.js";
import type { CallGate } from "../../../provider/fleet/gate/call-gate.js";
import { startGate } from "../fleet/gate/harness.js";
import { startServer, type Answer } from "../../support/http.js";
import { answerOk, API_KEY, createAgent, createTestClient, failureOf, VERIFICATION_KEY } from "./harness.js";

afterEach(() => vi.unstubAllEnvs());

/** As the environment names it to a process. */
const useGate = ({ environment }: CallGate): void =>
  void vi.stubEnv("APICHAT_CALL_GATE", environment["APICHAT_CALL_GATE"]);

/** What holds a gate's only place as another process would. */
const holdPlace = (gate: CallGate, origin: string): ReturnType<CallGate["gate"]["enter"]> =>
  gate.gate.enter({ origin, operation: "set-webhook" });

/** Patient: a place may be long in coming, an answer on a busy machine too. */
const createClient: typeof createTestClient = (baseUrl, options) =>
  createTestClient(baseUrl, { requestSeconds: 20, ...options });

/** Once it is answered, all calls that were begun before have asked for their place. */
async function callElsewhere(): Promise<void> {
  const { url: origin } = await startServer((_, response) => answerOk(response));
  await createClient(origin).getWebhook();
}

const answerBusy: Answer = (_, response) => void response.writeHead(429).end();

describe("a client in a process with a call gate", () => {
  test("sends when it has a place, and gives it back", async () => {
    const gate = await startGate();
    useGate(gate);
    const { url: origin, requests } = await startServer((_, response) => answerOk(response));
    const place = await holdPlace(gate, origin);
    const calls = [1, 2, 3].map((n) => createClient(`${origin}/w${n}`).getWebhook());
    await callElsewhere();
    expect(requests).toEqual([]);
    place.leave();
    await Promise.all(calls);
    expect(requests).toHaveLength(3);
    expect(gate.calls()).toEqual({ "set-webhook": 1, "get-webhook": 4 });
  });

  test("counts no wait for a place in the time limit of the operation", async () => {
    const gate = await startGate();
    useGate(gate);
    const { url: origin } = await startServer((_, response) => answerOk(response));
    const place = await holdPlace(gate, origin);
    const waiting = createClient(origin, { requestSeconds: 1.5 }).getWebhook();
    setTimeout(() => place.leave(), 2_000);
    expect(await waiting).toMatchObject({ status: "verified" });
  });

  test("ends at once when its signal fires while it waits, and takes nobody's place", async () => {
    const gate = await startGate();
    useGate(gate);
    const { url: origin, requests } = await startServer((_, response) => answerOk(response));
    const place = await holdPlace(gate, origin);
    const controller = new AbortController();
    const waiting = createClient(origin).getWebhook({ signal: controller.signal });
    await callElsewhere();
    controller.abort(new Error("gave up"));
    await expect(waiting).rejects.toThrow("gave up");
    place.leave();
    await createClient(origin).getWebhook();
    expect(requests).toHaveLength(1);
  });

  test("tells of a 429 with the pause, which holds for the other processes", async () => {
    const gate = await startGate();
    useGate(gate);
    const { url: origin } = await startServer((_, response, index) =>
      index === 0 ? response.writeHead(429, { "retry-after": "60" }).end() : answerOk(response),
    );
    const begun = Date.now();
    const failed = failureOf(createClient(origin, { requestSeconds: 3 }).getWebhook());
    expect(await failed).toMatchObject({ code: "unavailable", httpStatus: 429, attempts: 1 });
    await holdPlace(gate, origin);
    // As long as the service asked, but not longer than the time limit of a call.
    expect(Date.now() - begun).toBeGreaterThanOrEqual(3_000);
    expect(gate.answers429()).toBe(1);
  });

  test("fails with the gate's reason, unrepeated, when the budget of 429s is spent", async () => {
    const onBudgetSpent = vi.fn<() => void>();
    const gate = await startGate({ most429: 1, onBudgetSpent });
    useGate(gate);
    const { url: origin, requests } = await startServer(answerBusy);
    const error = await failureOf(createClient(origin).getWebhook());
    expect(error).toMatchObject({ code: "unavailable", operation: "get-webhook", attempts: 1 });
    expect(error.message).toBe(
      `get-webhook at ${origin}/: the service answered 1 call with HTTP 429, which is the run's budget; ` +
        "wait, then go on with --resume, or raise --most-429",
    );
    expect(await failureOf(createClient(origin).getWebhook())).toMatchObject({ attempts: 0 });
    expect(requests).toHaveLength(1);
    expect(onBudgetSpent).toHaveBeenCalledOnce();
  });

  test("sends messages through it too", async () => {
    const gate = await startGate();
    useGate(gate);
    const { url: origin } = await startServer((_, response) => void response.end());
    const client = new MessageClient({ botUrl: origin, flowApiKey: "flow-key", dispatcher: createAgent() });
    await client.sendText({ sender: { id: "42", name: "Ana" }, conversationId: 7, text: "Good morning" });
    expect(gate.calls()).toEqual({ message: 1 });
  });

  test("goes on when the gate ends while it waits", async () => {
    const gate = await startGate();
    useGate(gate);
    const { url: origin, requests } = await startServer((_, response) => answerOk(response));
    await holdPlace(gate, origin);
    const client = createClient(origin);
    const waiting = client.getWebhook();
    await callElsewhere();
    expect(requests).toEqual([]);
    await gate.close();
    await Promise.all([waiting, client.getWebhook()]);
    expect(requests).toHaveLength(2);
  });

  test("goes on, eight at once, when nobody listens at the gate", async () => {
    vi.stubEnv("APICHAT_CALL_GATE", join(tmpdir(), "no-such-folder", "gate"));
    let now = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    const answer = async (response: ServerResponse): Promise<void> => {
      most = Math.max(most, (now += 1));
      if (now === 8) full.resolve();
      await full.promise;
      await sleep(20);
      now -= 1;
      answerOk(response);
    };
    const { url: origin } = await startServer((_, response) => void answer(response));
    const client = createClient(origin);
    await Promise.all(Array.from({ length: 30 }, () => client.getWebhook()));
    expect(most).toBe(8);
  });

  test("says origin, operation and milliseconds over the socket, and no secret", async () => {
    const said = await listenAsGate();
    const { url: origin } = await startServer((_, response, index) =>
      index === 0 ? response.writeHead(429, { "retry-after": "1" }).end() : answerOk(response),
    );
    const client = createClient(`${origin}/acme?tenant=secret-tenant`);
    await client.setWebhook({
      webhookUrl: "https://chat.acme.example/hook?token=secret-token",
      webhookVerificationKey: VERIFICATION_KEY,
    });
    await vi.waitFor(() => expect(said()).toHaveLength(4));
    expect(said()).toEqual([
      { type: "enter", id: 1, origin, operation: "set-webhook" },
      { type: "leave", id: 1, answer429: { pauseMs: 1_000 } },
      { type: "enter", id: 2, origin, operation: "set-webhook" },
      { type: "leave", id: 2 },
    ]);
    expect(JSON.stringify(said())).not.toContain(API_KEY);
  });
});

describe("a client without a call gate in its environment", () => {
  test("asks none", async () => {
    const gate = await startGate();
    const { url: origin } = await startServer((_, response) => answerOk(response));
    await holdPlace(gate, origin);
    await createClient(origin).getWebhook();
    expect(gate.calls()).toEqual({ "set-webhook": 1 });
  });

  test("asks the one that it is given", async () => {
    const gate = await startGate({ callsPerOrigin: 2 });
    const { url: origin } = await startServer((_, response) => answerOk(response));
    await createClient(origin, { gate: gate.gate }).getWebhook();
    expect(gate.calls()).toEqual({ "get-webhook": 1 });
  });
});

/** Listens in place of a gate, gives a place to whoever asks, and keeps every message. */
async function listenAsGate(): Promise<() => unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-said-"));
  const path = join(folder, "gate");
  let said = "";
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      for (const [, id] of chunk.toString().matchAll(/"enter","id":(\d+)/g)) {
        socket.write(`${JSON.stringify({ type: "entered", id: Number(id) })}\n`);
      }
    });
  });
  server.listen(path);
  await once(server, "listening");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  });
  vi.stubEnv("APICHAT_CALL_GATE", path);
  return () =>
    said
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as unknown);
}
