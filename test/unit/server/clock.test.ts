import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { accepting, openKeeper, spoolFile } from "./spool-harness.js";

const HOUR_MS = 60 * 60 * 1000;
const FAILED = { failure: "HTTP 503", pauseMs: 60_000, maxAgeMs: HOUR_MS };

// Both clocks are simulated: the system clock, which a user may set, and the monotonic clock.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): void => void vi.advanceTimersByTime(ms);
const setClock = (byMs: number): void => void vi.setSystemTime(Date.now() + byMs);

/** Opens a spool and starts to forward acme's deliveries, as a responder does at its start. */
function open(path: string) {
  const { keeper, call, take } = openKeeper(path);
  call("forward", ["acme"], []);
  const pauseMs = (): number => keeper.queue.pauseMs();
  /** Fails the next attempt. Returns whether the delivery is given up. */
  const fail = () => call("fail", take()[0]?.position ?? 0, FAILED);
  return { keeper, call, take, pauseMs, fail };
}

/** Opens a spool whose only delivery waits after a failed attempt. */
function openWaiting(path: string) {
  const opened = open(path);
  opened.call(...accepting());
  opened.fail();
  opened.take();
  return opened;
}

test.each([
  ["back", -2 * HOUR_MS],
  ["forward", 24 * HOUR_MS],
])("setting the clock %s, while a responder runs or is stopped, changes no pause", (_way, byMs) => {
  const path = spoolFile();
  const { keeper, call, take, pauseMs } = openWaiting(path);
  pass(20_000);
  setClock(byMs);
  expect([take(), pauseMs()]).toEqual([[], 40_000]);
  call("check");
  keeper.close();
  setClock(byMs);
  const again = open(path);
  expect([again.take(), again.pauseMs()]).toEqual([[], 40_000]);
  pass(40_000);
  expect(again.take()).toMatchObject([{ attempts: 1 }]);
});

test("while no responder runs, pauses do not end and deliveries do not age", () => {
  const path = spoolFile();
  openWaiting(path).keeper.close();
  pass(48 * HOUR_MS);
  const { take, pauseMs, fail } = open(path);
  expect([take(), pauseMs()]).toEqual([[], 60_000]);
  pass(60_000);
  expect(fail()).toBe(false);
  pass(HOUR_MS);
  expect(fail()).toBe(true);
});
