import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { accepting, openKeeper, spoolFile } from "./spool-harness.js";

const HOUR_MS = 60 * 60 * 1000;
const FAILED = { failure: "HTTP 503", pauseMs: 60_000, maxAgeMs: HOUR_MS };

// Both clocks are simulated: the machine's, which somebody sets, and the one that counts the time that passes.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): void => void vi.advanceTimersByTime(ms);
const setClock = (byMs: number): void => void vi.setSystemTime(Date.now() + byMs);

/** Opens a spool of which acme is forwarded, in which its only delivery has failed, and then waits. */
function openWaiting(path: string) {
  const { call, keeper } = openKeeper(path);
  call(...accepting());
  call("forward", ["acme"], []);
  const [taken] = keeper.queue.take();
  call("reschedule", taken?.position ?? 0, FAILED);
  keeper.queue.take();
  return { keeper };
}

/** Opens it again. */
function openAgain(path: string) {
  const { call, keeper } = openKeeper(path);
  call("forward", ["acme"], []);
  keeper.queue.take();
  return { keeper, call };
}

test.each([
  ["back", -2 * HOUR_MS],
  ["forward", 24 * HOUR_MS],
])("a clock that is set %s changes no pause, while a responder runs or is stopped", (_way, byMs) => {
  const path = spoolFile();
  const { keeper } = openWaiting(path);
  pass(20_000);
  setClock(byMs);
  expect([keeper.queue.pauseMs(), keeper.queue.take()]).toEqual([40_000, []]);
  keeper.run([["check"]], 0);
  keeper.close();
  setClock(byMs);
  const again = openAgain(path).keeper.queue;
  expect([again.pauseMs(), again.take()]).toEqual([40_000, []]);
  pass(40_000);
  expect(again.take()).toMatchObject([{ attempts: 1 }]);
});

test("time in which no responder ran neither ends a pause nor makes a delivery older", () => {
  const path = spoolFile();
  openWaiting(path).keeper.close();
  pass(48 * HOUR_MS);
  const { keeper, call } = openAgain(path);
  expect(keeper.queue.pauseMs()).toBe(60_000);
  pass(60_000);
  const [taken] = keeper.queue.take();
  expect(call("reschedule", taken?.position ?? 0, FAILED)).toBe(true);
  pass(HOUR_MS);
  const [last] = keeper.queue.take();
  expect(call("reschedule", last?.position ?? 0, FAILED)).toBe(false);
});
