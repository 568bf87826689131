import { dirname } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { Forwarder } from "../../../provider/server/forwarder.js";
import { openSpool, type Spool } from "../../../provider/server/spool/spool.js";
import { startServer, type TestServer } from "../../support/http.js";
import { acceptAll, createTestLog, listAll, listDeadIds, spoolFile } from "./spool-harness.js";

const WAIT = { timeout: 10_000, interval: 5 };
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

// The machine's clock is changed. Time passes as always, and so do timers.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());
const setClock = (byMs: number): void => void vi.setSystemTime(Date.now() + byMs);

/** A responder's spool and forwarder, which may close before the test ends. */
function start(
  path: string,
  target: TestServer,
  backOffMs = 300,
): { spool: Spool; stop: () => Promise<void> } {
  const spool = openSpool(dirname(path));
  const backOff = { firstMs: backOffMs, longestMs: backOffMs };
  const forwarder = new Forwarder({ spool, log: createTestLog(), backOff });
  forwarder.follow({ workspaces: { acme: { forwardTo: target.url } }, forwardWithinSeconds: 3600 });
  const stop = (): Promise<void> => forwarder.close().then(() => spool.close());
  onTestFinished(stop);
  return { spool, stop };
}

const untilTried = (spool: Spool, times: number): Promise<void> =>
  vi.waitFor(() => expect(listAll(spool)[0]?.attempts).toBeGreaterThanOrEqual(times), WAIT);
const untilEmpty = (spool: Spool): Promise<void> =>
  vi.waitFor(() => expect(spool.counts()).toEqual(new Map()), WAIT);

test("a clock that is set back during a pause delays neither the delivery nor those behind it", async () => {
  const target = await startServer((_, response, index) => response.writeHead(index ? 200 : 503).end());
  const { spool } = start(spoolFile(), target);
  await acceptAll(spool, [{}, {}]);
  await untilTried(spool, 1);
  setClock(-2 * HOUR_MS);
  // The time of the next attempt is shown by the current clock.
  expect(listAll(spool)[0]?.dueMs).toBeLessThan(Date.now() + 1000);
  await untilEmpty(spool);
  expect(target.requests).toHaveLength(3);
});

test.each([
  ["before", -HOUR_MS, 0],
  ["while", 0, -HOUR_MS],
])(
  "a clock that is set back %s a responder is stopped delays nothing after the restart",
  async (_when, running, off) => {
    const path = spoolFile();
    const target = await startServer((_, response) => response.writeHead(503).end());
    const before = start(path, target);
    await acceptAll(before.spool, [{}, { conversation: "8" }]);
    await untilTried(before.spool, 1);
    setClock(running);
    await before.stop();
    setClock(off);
    target.answerWith((_, response) => response.end());
    const { spool } = start(path, target);
    await untilEmpty(spool);
    expect(listDeadIds(spool)).toEqual([]);
  },
);

test("a delivery that was kept while the clock was ahead is forwarded at once", async () => {
  const path = spoolFile();
  const target = await startServer();
  setClock(DAY_MS);
  const kept = openSpool(dirname(path));
  await acceptAll(kept, [{}]);
  kept.close();
  setClock(-DAY_MS);
  await untilEmpty(start(path, target).spool);
  expect(target.requests).toHaveLength(1);
});

test("a clock that is set forward by a day does not make a delivery older", async () => {
  const path = spoolFile();
  const target = await startServer((_, response) => response.writeHead(503).end());
  const { spool, stop } = start(path, target, 20);
  await acceptAll(spool, [{}]);
  await untilTried(spool, 1);
  setClock(DAY_MS);
  await untilTried(spool, 4);
  await stop();
  const again = start(path, target, 20);
  await untilTried(again.spool, 8);
  expect(listDeadIds(again.spool)).toEqual([]);
  target.answerWith((_, response) => response.end());
  await untilEmpty(again.spool);
});
