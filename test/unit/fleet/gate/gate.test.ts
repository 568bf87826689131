import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  CallRefusedError,
  type CallPlace,
  type SharedGate,
} from "../../../../provider/client/origin-gate.js";
import { GateConnection } from "../../../../provider/client/shared-gate.js";
import type { CallGate } from "../../../../provider/fleet/gate/call-gate.js";
import { startGate } from "./harness.js";

const ORIGIN = "https://platform.example";
const GET = { origin: ORIGIN, operation: "get-webhook" };
const SET = { origin: ORIGIN, operation: "set-webhook" };
const ELSEWHERE = { ...GET, origin: "https://other.example" };

const pathOf = ({ environment }: CallGate): string => environment["APICHAT_CALL_GATE"] ?? "";

/** As another process has it. */
const connectTo = (gate: CallGate): GateConnection => new GateConnection(pathOf(gate));

/** A connection that sends what it likes, made. */
async function connectRaw(gate: CallGate): Promise<Socket> {
  const socket = connect(pathOf(gate)).on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

const enterLine = (id: number): string =>
  `${JSON.stringify({ type: "enter", id, origin: ORIGIN, operation: "get-webhook" })}\n`;

/** Resolves when what was sent before over this connection or in this process has surely been dealt with. */
async function roundTrip(gate: SharedGate): Promise<void> {
  (await gate.enter({ origin: "test://round-trip", operation: "round-trip" })).leave();
  // A permit is handed on within the turn in which it was released.
  await setImmediate();
}

/** Asks for a place, and shows whether it was given yet. */
function ask(gate: SharedGate, signal?: AbortSignal): { place: Promise<CallPlace>; isIn: () => boolean } {
  let isIn = false;
  const place = gate.enter(GET, signal).then((given) => {
    isIn = true;
    return given;
  });
  // What a test does not await may be refused when the gate closes.
  place.catch(() => undefined);
  return { place, isIn: () => isIn };
}

const gaveUp = () => new Error("gave up");

describe("a gate over several connections", () => {
  test("lets as many calls through at once as it was given, by the order of asking, also of its own process", async () => {
    const gate = await startGate({ callsPerOrigin: 2 });
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const asked: ReturnType<typeof ask>[] = [];
    for (const one of [first, gate.gate, second, first, second]) {
      asked.push(ask(one));
      await roundTrip(one);
    }
    const entered = () => asked.filter(({ isIn }) => isIn()).length;
    for (const [index, { place }] of asked.entries()) {
      expect(entered()).toBe(Math.min(index + 2, asked.length));
      const entry = await place;
      entry.leave();
      // A place is taken back once, however often it is left.
      entry.leave();
      for (const one of [first, second]) await roundTrip(one);
    }
    expect(gate.calls()).toMatchObject({ "get-webhook": 5 });
  });

  test("lets calls to another origin through meanwhile, and during a pause", async () => {
    const gate = await startGate();
    (await connectTo(gate).enter(GET)).leave({ pauseMs: 60_000 });
    await connectTo(gate).enter(ELSEWHERE);
    expect(gate.calls()).toEqual({ "get-webhook": 2 });
  });

  test.each([
    ["as long as the service asked", 1_500.5, 1_500],
    ["for a moment too if it named no time", 0, 1_000],
  ])("holds all of them back after a 429 of one, %s", async (_, pauseMs, atLeastMs) => {
    const gate = await startGate({ callsPerOrigin: 4 });
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const begun = Date.now();
    (await first.enter(GET)).leave({ pauseMs });
    await roundTrip(first);
    await Promise.all([second.enter(SET), gate.gate.enter(GET)]);
    expect(Date.now() - begun).toBeGreaterThanOrEqual(atLeastMs);
    expect(gate.answers429()).toBe(1);
    expect(gate.calls()).toMatchObject({ "get-webhook": 2, "set-webhook": 1 });
  });

  test.each([
    ["a call that waits", undefined],
    ["a call that sits out a pause", { pauseMs: 1_000 }],
  ])("counts no place for %s and gives up, with its reason", async (_, left) => {
    const gate = await startGate();
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const held = await first.enter(GET);
    if (left) held.leave(left);
    await roundTrip(first);
    const controller = new AbortController();
    const impatient = second.enter(SET, controller.signal);
    await roundTrip(second);
    const patient = second.enter(GET);
    controller.abort(gaveUp());
    await expect(impatient).rejects.toThrow("gave up");
    if (!left) held.leave();
    (await patient).leave();
    expect(gate.calls()).not.toHaveProperty("set-webhook");
    await expect(first.enter(GET, AbortSignal.abort(gaveUp()))).rejects.toThrow("gave up");
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
      for (let step = 0; step < n % 10; step += 1) await setImmediate();
      controller.abort(gaveUp());
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
    controller.abort(new Error("ends what is in progress"));
    await roundTrip(first);
    await roundTrip(second);
    expect(next.isIn()).toBe(false);
    place.leave();
    await next.place;
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

  test("reports once that the budget of 429s is spent, and refuses the calls that wait, pause and come, for good", async () => {
    const onBudgetSpent = vi.fn<() => void>();
    const gate = await startGate({ callsPerOrigin: 3, most429: 2, onBudgetSpent });
    const [first, second] = [connectTo(gate), connectTo(gate)];
    const [held, second429, third429] = await Promise.all([
      first.enter(GET),
      first.enter(GET),
      first.enter(GET),
    ]);
    held.leave({ pauseMs: 60_000 });
    const before = Promise.allSettled([second.enter(GET), gate.gate.enter(SET)]);
    await roundTrip(second);
    expect(onBudgetSpent).not.toHaveBeenCalled();
    second429.leave({ pauseMs: 0 });
    const refused = [
      ...(await before),
      ...(await Promise.allSettled([first.enter(GET), connectTo(gate).enter(ELSEWHERE)])),
    ];
    const reasons = refused.map((one) => (one.status === "rejected" ? (one.reason as unknown) : undefined));
    expect(reasons).toEqual(reasons.map(() => expect.any(CallRefusedError) as unknown));
    expect(String(reasons[0])).toMatch(/answered 2 calls with HTTP 429.*--resume.*raise --most-429/);
    third429.leave({ pauseMs: 0 });
    await expect.poll(() => gate.answers429()).toBe(3);
    expect(onBudgetSpent).toHaveBeenCalledOnce();
    expect(gate.calls()).toEqual({ "get-webhook": 3, "round-trip": 1 });
    await gate.close();
    // The refusal lasts: the run has stopped.
    await expect(second.enter(GET)).rejects.toBeInstanceOf(CallRefusedError);
  });
});

describe("a gate that is gone", () => {
  test("lets through what waits and what comes, and leaves nothing on disk", async () => {
    const gate = await startGate();
    const folder = dirname(pathOf(gate));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const connection = connectTo(gate);
    const held = await connection.enter(GET);
    const waiting = ask(connection);
    await roundTrip(connection);
    expect(waiting.isIn()).toBe(false);
    await Promise.all([gate.close(), gate.close()]);
    (await waiting.place).leave({ pauseMs: 60_000 });
    held.leave();
    (await connection.enter(GET)).leave();
    expect(gate.calls()).toMatchObject({ "get-webhook": 1 });
    expect(existsSync(folder)).toBe(false);
  });

  test("is no hindrance to a process that never reached it", async () => {
    const connection = new GateConnection(join(tmpdir(), "no-such-folder", "gate"));
    expect(await Promise.all([connection.enter(GET), connection.enter(GET)])).toHaveLength(2);
    await expect(connection.enter(GET)).resolves.toBeDefined();
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
