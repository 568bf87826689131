import { describe, expect, test, vi } from "vitest";
import { CallRefusedError } from "../../../../provider/client/origin-gate.js";
import { RunGate } from "../../../../provider/fleet/gate/run-gate.js";
import { ask, GET, ORIGIN, roundTrip, SET } from "./harness.js";

const newGate = (options: Partial<ConstructorParameters<typeof RunGate>[0]> = {}): RunGate =>
  new RunGate({ callsPerOrigin: 1, most429: 100, onBudgetSpent: () => undefined, ...options });

describe("the gate of a run", () => {
  test("lets as many calls through to each origin as it was told, by the order of asking", async () => {
    const gate = newGate({ callsPerOrigin: 2 });
    const asked = [ask(gate), ask(gate), ask(gate), ask(gate)];
    const entered = (): boolean[] => asked.map(({ isIn }) => isIn());
    await roundTrip(gate);
    expect(entered()).toEqual([true, true, false, false]);
    (await asked[1]?.place)?.leave();
    await roundTrip(gate);
    expect(entered()).toEqual([true, true, true, false]);
  });

  test("takes a place back once, however often it is left", async () => {
    const gate = newGate();
    const place = await gate.enter(GET);
    place.leave();
    place.leave();
    await gate.enter(GET);
    const third = ask(gate);
    await roundTrip(gate);
    expect(third.isIn()).toBe(false);
  });

  test("counts the calls by operation when they get their place, and the answers with 429", async () => {
    const gate = newGate();
    (await gate.enter(GET)).leave();
    (await gate.enter({ origin: "https://other.example", operation: "get-webhook" })).leave({ pauseMs: 0 });
    await gate.enter(SET);
    ask(gate);
    expect(gate.calls()).toEqual({ "get-webhook": 2, "set-webhook": 1 });
    expect(gate.answers429()).toBe(1);
  });

  test("counts no call that gave up waiting, and keeps its place for others", async () => {
    const gate = newGate();
    const first = await gate.enter(GET);
    const controller = new AbortController();
    const impatient = gate.enter(SET, controller.signal);
    const patient = gate.enter(GET);
    controller.abort(new Error("gave up"));
    await expect(impatient).rejects.toThrow("gave up");
    first.leave();
    await patient;
    expect(gate.calls()).toEqual({ "get-webhook": 2 });
  });

  test("holds every call to the origin back after a 429 as long as the service asked", async () => {
    const gate = newGate({ callsPerOrigin: 4 });
    const begun = Date.now();
    (await gate.enter(GET)).leave({ pauseMs: 1_500 });
    await Promise.all([gate.enter(GET), gate.enter(SET)]);
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1_500);
  });

  test("holds them back for a moment too if the 429 named no time", async () => {
    const gate = newGate({ callsPerOrigin: 4 });
    const begun = Date.now();
    (await gate.enter(GET)).leave({ pauseMs: 0 });
    await gate.enter(GET);
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1_000);
  });

  test("does not hold back calls to another origin", async () => {
    const gate = newGate();
    (await gate.enter(GET)).leave({ pauseMs: 60_000 });
    await gate.enter({ origin: "https://other.example", operation: "get-webhook" });
    expect(gate.calls()).toEqual({ "get-webhook": 2 });
  });

  test("gives up a pause with the reason of the signal, and loses no place by it", async () => {
    const gate = newGate();
    (await gate.enter(GET)).leave({ pauseMs: 1_000 });
    const controller = new AbortController();
    const pausing = gate.enter(GET, controller.signal);
    controller.abort(new Error("gave up"));
    await expect(pausing).rejects.toThrow("gave up");
    await gate.enter(GET);
  });
});

describe("a spent budget of 429s", () => {
  test("is told once, and refuses the calls that wait, that sit out a pause, and that come", async () => {
    const onBudgetSpent = vi.fn<() => void>();
    const gate = newGate({ callsPerOrigin: 3, most429: 2, onBudgetSpent });
    const places = await Promise.all([gate.enter(GET), gate.enter(GET), gate.enter(GET)]);
    places[0].leave({ pauseMs: 60_000 });
    const pausing = gate.enter(GET);
    const waiting = gate.enter(GET);
    expect(onBudgetSpent).not.toHaveBeenCalled();
    places[1].leave({ pauseMs: 0 });
    await expect(pausing).rejects.toBeInstanceOf(CallRefusedError);
    await expect(waiting).rejects.toBeInstanceOf(CallRefusedError);
    await expect(gate.enter({ ...GET, origin: `${ORIGIN}:8443` })).rejects.toThrow(
      "the service answered 2 calls with HTTP 429, which is the run's budget; " +
        "wait, then go on with --resume, or raise --most-429",
    );
    places[2].leave({ pauseMs: 0 });
    expect(onBudgetSpent).toHaveBeenCalledOnce();
    expect(gate.answers429()).toBe(3);
    expect(gate.calls()).toEqual({ "get-webhook": 3 });
  });
});
