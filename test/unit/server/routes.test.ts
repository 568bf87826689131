import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createDelivery } from "../../../provider/responder/index.js";
import { fromRequest } from "../../../provider/responder/request.js";
import type { ServerConfig } from "../../../provider/server/config.js";
import { createLog } from "../../../provider/server/log.js";
import { Routes } from "../../../provider/server/routes.js";
import type { AcceptedDelivery } from "../../../provider/server/spool/database.js";
import { SqliteError } from "../../../provider/lib/sqlite.js";
import { KEY, SECOND_KEY } from "./harness.js";

const CONFIG: ServerConfig = {
  host: "127.0.0.1",
  port: 0,
  dataDir: "/nowhere",
  healthPath: "/healthz",
  workspaces: {
    acme: { verificationKeys: [KEY, SECOND_KEY], path: "/acme" },
    beta: { verificationKeys: ["key-of-beta-0123456789"], path: "/hooks/beta" },
  },
};

interface Given {
  failure?: Error;
  config?: ServerConfig;
  check?: () => Promise<void>;
  logDeliveries?: boolean;
}

const succeed = () => Promise.resolve();

/** Sets up the routes with a store in memory that fails on demand. */
async function setUp({ failure, config = CONFIG, check = succeed, logDeliveries }: Given = {}) {
  const accepted: AcceptedDelivery[] = [];
  const lines: Record<string, unknown>[] = [];
  const accept = (delivery: AcceptedDelivery): Promise<void> => {
    if (failure !== undefined) return Promise.reject(failure);
    accepted.push(delivery);
    return Promise.resolve();
  };
  const log = createLog((line) => lines.push(JSON.parse(line) as Record<string, unknown>));
  const routes = new Routes({ accept, check, waitForRoom: succeed }, log, { logDeliveries });
  await routes.configure(config);
  const send = (request: Request) => routes.answer(fromRequest(request));
  return { accepted, lines, send, routes };
}

const delivery = (path: string, options: Partial<Parameters<typeof createDelivery>[1]> = {}) =>
  createDelivery("text", { verificationKey: KEY, url: `http://localhost${path}`, ...options });

/** The statuses of the ready and health paths if the store's check fails with this error. */
async function probe(failure?: Error, drains = false): Promise<number[]> {
  const check = () => (failure === undefined ? Promise.resolve() : Promise.reject(failure));
  const { send, routes } = await setUp({ check });
  if (drains) routes.drain();
  const answers = ["readyz", "healthz"].map((path) => send(new Request(`http://localhost/${path}`)));
  return (await Promise.all(answers)).map(({ status }) => status);
}

describe("the routes of a responder", () => {
  it("store a delivery with all its bytes, headers and conversation, and then respond with 200", async () => {
    const { send, accepted } = await setUp();
    const bodies: [body: string, conversation: string | undefined][] = [
      ['{"type":"text", "conv_id":123456789012345678901,"text":"\\u00e9\\/"}', "123456789012345678901"],
      ['{"conv_id":-9007199254740993}', "-9007199254740993"],
      ['{"conv_id":"7"}', "7"],
      ['{"conv_id":null}', undefined],
      ['{"conv_id":[7]}', undefined],
      ["null", undefined],
      // Far too long: the conversation's id is shortened, but the body is stored unchanged.
      [`{"conv_id":${"9".repeat(1_000_000)}}`, "Infinity"],
      [`{"conv_id":"${"é".repeat(400_000)}"}`, "é".repeat(100)],
    ];
    for (const [body] of bodies)
      expect((await send(await delivery("/acme?tenant=1", { body }))).status).toBe(200);
    expect(accepted.map(({ conversation }) => conversation)).toEqual(bodies.map(([, one]) => one));
    expect(accepted.map(({ body }) => Buffer.from(body).toString())).toEqual(bodies.map(([body]) => body));
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;
    expect(accepted[0]).toMatchObject({ id, workspace: "acme" });
    expect(accepted[0]?.headers).toContainEqual(["x-flow-ns", "f0"]);
  });

  it("respond with 503 and Retry-After if the store fails, and log the reason", async () => {
    const { send, lines } = await setUp({ failure: new Error("database or disk is full") });
    const answer = await send(await delivery("/acme"));
    expect(answer.status).toBe(503);
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: "unavailable" } });
    expect(answer.body).not.toContain("disk");
    expect(lines).toMatchObject([
      { level: "error", event: "not accepted", workspace: "acme", error: "database or disk is full" },
      { event: "refused", status: 503 },
    ]);
  });

  it("respond with 200 on the health path, with 404 on unknown paths, and with 413 to large bodies", async () => {
    const { send } = await setUp({ config: { ...CONFIG, healthPath: "/alive", bodyLimitBytes: 100 } });
    for (const path of ["/", "/acme/", "/ACME", "/acmee", "/healthz", "/hooks", "/__proto__"]) {
      const answer = await send(await delivery(path));
      expect([path, answer.status]).toEqual([path, 404]);
    }
    expect(await send(new Request("http://localhost/alive"))).toMatchObject({
      status: 200,
      body: '{"status":"ok"}',
    });
    expect((await send(new Request("http://localhost/alive", { method: "POST" }))).status).toBe(405);
    const long = await delivery("/acme", { message: { text: "x".repeat(100) } });
    expect((await send(long)).status).toBe(413);
  });

  it("close only the connections of rejected requests", async () => {
    const { send } = await setUp();
    const rejected = [
      await delivery("/acme", { verificationKey: "wrong" }),
      await delivery("/other"),
      new Request("http://localhost/acme"),
      new Request("http://localhost/healthz", { method: "POST" }),
    ];
    for (const request of rejected)
      expect((await send(request)).headers).toMatchObject({ connection: "close" });
    const { send: sendToFull } = await setUp({ failure: new Error("database or disk is full") });
    const kept = [await send(await delivery("/acme")), await sendToFull(await delivery("/acme"))];
    expect(kept.map(({ status, headers }) => [status, headers["connection"]])).toEqual([
      [200, undefined],
      [503, undefined],
    ]);
  });

  it("check the store at most once in two seconds for each probe, and log a failure", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const check = vi.fn<NonNullable<Given["check"]>>(() => Promise.resolve());
    const { send, lines } = await setUp({ check });
    const statusOf = async (path: string) => (await send(new Request(`http://localhost/${path}`))).status;
    const health = () => statusOf("healthz");
    expect([await health(), await statusOf("readyz"), await health()]).toEqual([200, 200, 200]);
    expect(check).toHaveBeenCalledTimes(2);
    check.mockRejectedValueOnce(new Error("no such table"));
    vi.advanceTimersByTime(2_000);
    expect([await health(), await health()]).toEqual([503, 503]);
    vi.advanceTimersByTime(2_000);
    expect(await health()).toBe(200);
    expect(lines).toContainEqual(expect.objectContaining({ event: "not well", error: "no such table" }));
  });

  it("report not ready while draining or unable to store, and unhealthy only if a restart would help", async () => {
    expect(await probe()).toEqual([200, 200]);
    expect(await probe(undefined, true)).toEqual([503, 200]);
    expect(await probe(new SqliteError("full", "the disk is full"))).toEqual([503, 200]);
    expect(await probe(new SqliteError("failed", "the file was removed"))).toEqual([503, 503]);
    expect(await probe(new Error("permission denied"))).toEqual([503, 503]);
  });

  it("can log one line per delivery, with ids and result but without content", async () => {
    const { send, lines, accepted } = await setUp({ logDeliveries: true });
    const messages = [{ conv_id: 7, text: "hidden" }, { conv_id: "hidden" }];
    for (const message of messages) await send(await delivery("/acme", { message }));
    const fields = { level: "info", event: "delivery", workspace: "acme", kind: "text" };
    expect(lines).toMatchObject(accepted.map(({ id }) => ({ ...fields, id, result: "accepted" })));
    expect(lines[0]).toMatchObject({ conversation: "7", bytes: accepted[0]?.body.length });
    expect(JSON.stringify(lines)).not.toContain("hidden");
    const full = await setUp({ logDeliveries: true, failure: new Error("full") });
    await full.send(await delivery("/acme"));
    expect(full.lines).toContainEqual(expect.objectContaining({ ...fields, result: "unavailable" }));
    const quiet = await setUp();
    await quiet.send(await delivery("/acme"));
    expect(quiet.lines).toEqual([]);
  });
});
