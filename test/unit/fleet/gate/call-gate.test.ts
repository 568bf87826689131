import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { GateConnection } from "../../../../provider/client/shared-gate.js";
import { CallRefusedError, type SharedGate } from "../../../../provider/client/origin-gate.js";
import { ask, connectRaw, connectTo, GET, ORIGIN, pathOf, roundTrip, SET, startGate } from "./harness.js";

const enterLine = (id: number): string =>
  `${JSON.stringify({ type: "enter", id, origin: ORIGIN, operation: "get-webhook" })}\n`;

describe("a gate over several connections", () => {
  test("never lets more calls through at once than it was told, and all of them in the end", async () => {
    const gate = await startGate({ callsPerOrigin: 3 });
    const connections = Array.from({ length: 5 }, () => connectTo(gate));
    let now = 0;
    let most = 0;
    const call = async (connection: GateConnection): Promise<void> => {
      const place = await connection.enter(GET);
      now += 1;
      most = Math.max(most, now);
      await roundTrip(connection);
      now -= 1;
      place.leave();
    };
    await Promise.all(
      connections.flatMap((connection) => Array.from({ length: 20 }, () => call(connection))),
    );
    expect(most).toBe(3);
    expect(gate.calls()).toMatchObject({ "get-webhook": 100 });
  });

  test("gives places by the order of asking, also to the clients of its own process", async () => {
    const gate = await startGate();
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const order: string[] = [];
    const held = await gate.gate.enter(GET);
    const call = async (name: string, asked: SharedGate): Promise<void> => {
      const place = await asked.enter(GET);
      order.push(name);
      place.leave();
    };
    const waiting = [];
    for (const [name, asked] of Object.entries({ a: first, b: gate.gate, c: second, d: first })) {
      waiting.push(call(name, asked));
      await roundTrip(asked);
    }
    held.leave();
    await Promise.all(waiting);
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  test("lets calls to another origin through meanwhile", async () => {
    const gate = await startGate();
    await connectTo(gate).enter(GET);
    const other = await connectTo(gate).enter({ ...GET, origin: "https://other.example" });
    expect(other).toBeDefined();
  });

  test("holds all of them back after a 429 of one", async () => {
    const gate = await startGate({ callsPerOrigin: 4 });
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const begun = Date.now();
    (await first.enter(GET)).leave({ pauseMs: 1_500.5 });
    await roundTrip(first);
    await second.enter(SET);
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1_500);
    expect(gate.answers429()).toBe(1);
    expect(gate.calls()).toMatchObject({ "set-webhook": 1 });
  });

  test("keeps no place for a call that gave up waiting", async () => {
    const gate = await startGate();
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const held = await first.enter(GET);
    const controller = new AbortController();
    const impatient = second.enter(SET, controller.signal);
    await roundTrip(second);
    const patient = second.enter(GET);
    controller.abort(new Error("gave up"));
    await expect(impatient).rejects.toThrow("gave up");
    held.leave();
    (await patient).leave();
    expect(gate.calls()).not.toHaveProperty("set-webhook");
    (await first.enter(GET)).leave();
  });

  test("gets a place back that was given just when the call gave up", async () => {
    const gate = await startGate();
    const connection = connectTo(gate);
    await roundTrip(connection);
    for (let n = 0; n < 50; n += 1) {
      const controller = new AbortController();
      const asked = connection.enter(GET, controller.signal).then(
        (place) => place.leave(),
        () => undefined,
      );
      // At another step of the exchange each time.
      for (let step = 0; step < n % 10; step += 1) await new Promise(setImmediate);
      controller.abort(new Error("gave up"));
      await asked;
    }
    await expect(connection.enter(GET)).resolves.toBeDefined();
  });

  test("keeps the place of a call until it is left, also when its signal has fired", async () => {
    const gate = await startGate();
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const controller = new AbortController();
    const place = await first.enter(GET, controller.signal);
    const next = ask(second);
    controller.abort(new Error("ends what is under way"));
    await roundTrip(first);
    await roundTrip(second);
    expect(next.isIn()).toBe(false);
    place.leave();
    await next.place;
  });

  test("rejects at once what was given up before it asked", async () => {
    const gate = await startGate();
    const asked = connectTo(gate).enter(GET, AbortSignal.abort(new Error("gave up")));
    await expect(asked).rejects.toThrow("gave up");
  });

  test("takes back the places of a connection that breaks, held and waited for", async () => {
    const gate = await startGate();
    const broken = await connectRaw(gate);
    broken.write(enterLine(1) + enterLine(2));
    expect(String(await once(broken, "data"))).toBe('{"type":"entered","id":1}\n');
    const other = connectTo(gate).enter(GET);
    broken.destroy();
    (await other).leave();
    expect(gate.calls()).toEqual({ "get-webhook": 2 });
  });

  test("tells every connection that the budget of 429s is spent, those that wait and those that come", async () => {
    const onBudgetSpent = vi.fn<() => void>();
    const gate = await startGate({ most429: 1, onBudgetSpent });
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const place = await first.enter(GET);
    const waiting = second.enter(GET);
    await roundTrip(second);
    place.leave({ pauseMs: 0 });
    await expect(waiting).rejects.toThrow("answered 1 call with HTTP 429");
    await expect(first.enter(GET)).rejects.toBeInstanceOf(CallRefusedError);
    await expect(connectTo(gate).enter(GET)).rejects.toBeInstanceOf(CallRefusedError);
    expect(onBudgetSpent).toHaveBeenCalledOnce();
    await gate.close();
    // The refusal lasts: the run has stopped.
    await expect(second.enter(GET)).rejects.toBeInstanceOf(CallRefusedError);
  });
});

describe("a gate that is gone", () => {
  test("lets through what waits and what comes", async () => {
    const gate = await startGate();
    const connection = connectTo(gate);
    const held = await connection.enter(GET);
    const waiting = ask(connection);
    await roundTrip(connection);
    expect(waiting.isIn()).toBe(false);
    await gate.close();
    (await waiting.place).leave({ pauseMs: 60_000 });
    held.leave();
    (await connection.enter(GET)).leave();
    expect(gate.calls()).toMatchObject({ "get-webhook": 1 });
  });

  test("is no hindrance to a process that never reached it", async () => {
    const connection = new GateConnection(join(tmpdir(), "no-such-folder", "gate"));
    expect(await Promise.all([connection.enter(GET), connection.enter(GET)])).toHaveLength(2);
    await expect(connection.enter(GET)).resolves.toBeDefined();
  });

  test("leaves nothing on disk, and had a folder that only its user may enter", async () => {
    const gate = await startGate();
    const folder = dirname(pathOf(gate));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const connection = connectTo(gate);
    await connection.enter(GET);
    await Promise.all([gate.close(), gate.close()]);
    expect(existsSync(folder)).toBe(false);
  });
});

describe("a gate's socket", () => {
  test.each([
    ["no JSON", "hello\n"],
    ["an unknown request", '{"type":"open","id":1}\n'],
    ["an unknown field", `{"type":"leave","id":1,"key":"x"}\n`],
    ["an id that is in use", enterLine(1) + enterLine(1)],
    ["a line without end", "x".repeat(9_000)],
    ["a line that is too long", `${" ".repeat(9_000)}${enterLine(1)}`],
  ])("ends a connection that sends %s, and takes its places back", async (_, nonsense) => {
    const log = vi.fn<(line: string) => void>();
    const gate = await startGate({ log });
    const socket = await connectRaw(gate);
    socket.write(enterLine(7));
    await once(socket, "data");
    const ended = once(socket, "close");
    socket.write(nonsense);
    await ended;
    (await connectTo(gate).enter(GET)).leave();
    expect(log).toHaveBeenCalledOnce();
  });

  test("lies in a short path although the temporary folder has a long one", async () => {
    const folder = await mkdtemp(join(tmpdir(), "apichat-long-"));
    const long = join(folder, "x".repeat(100));
    await mkdir(long);
    vi.stubEnv("TMPDIR", long);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(folder, { recursive: true });
    });
    const gate = await startGate();
    await connectTo(gate).enter(GET);
    expect(gate.calls()).toEqual({ "get-webhook": 1 });
  });
});
