import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { SqliteError } from "../../../provider/lib/sqlite.js";
import { Forwarder, type ForwarderOptions } from "../../../provider/server/forward/forwarder.js";
import type { Spool } from "../../../provider/server/spool/spool.js";
import { freePort, startServer, type Answer, type TestServer } from "../../support/http.js";
import {
  acceptAll,
  createTestLog,
  listAll,
  listDeadIds,
  listIds,
  makeDelivery,
  openTestSpool,
  spoolFile,
  withDatabase,
} from "./spool-harness.js";

const WAIT = { timeout: 10_000, interval: 5 };
const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
/** The ids of what a target got. */
const sentIds = ({ requests }: TestServer): string[] =>
  requests.map(({ headers }) => String(headers["x-apichat-delivery-id"]));
const targetsOf = (urls: Record<string, string>) => new Map(Object.entries(urls));
const MAX_AGE_MS = 60_000;

type Given = Partial<Omit<ForwarderOptions, "spool">> & { maxAgeMs?: number };

/** Closed after the test. Its pauses are of milliseconds. */
function startTestForwarder(
  spool: Spool,
  urls: Record<string, string>,
  { maxAgeMs = MAX_AGE_MS, ...given }: Given = {},
): Forwarder {
  const forwarder = new Forwarder({
    spool,
    log: createTestLog(),
    backOff: { firstMs: 20, longestMs: 80 },
    closeTimeoutMs: 100,
    ...given,
  });
  forwarder.follow({ targets: targetsOf(urls), maxAgeMs });
  onTestFinished(() => forwarder.close());
  return forwarder;
}

const waitUntilEmpty = (spool: Spool): Promise<void> =>
  vi.waitFor(() => expect(spool.counts()).toEqual(new Map()), WAIT);
const waitForDeadLetters = (spool: Spool, count: number): Promise<void> =>
  vi.waitFor(() => expect(listDeadIds(spool)).toHaveLength(count), WAIT);
const waitForRequests = ({ requests }: TestServer, count: number): Promise<void> =>
  vi.waitFor(() => expect(requests.length).toBeGreaterThanOrEqual(count), WAIT);

test("forwards what was accepted before its start and what comes later, byte for byte, and deletes it", async () => {
  const spool = openTestSpool();
  const target = await startServer();
  const bodies = [randomBytes(10), randomBytes(1024 * 1024), randomBytes(1000)];
  const before = await acceptAll(spool, [{ body: bodies[0] }, { body: bodies[1] }]);
  startTestForwarder(spool, { acme: target.url });
  await waitForRequests(target, 2);
  const later = await acceptAll(spool, [{ body: bodies[2] }]);
  await waitUntilEmpty(spool);
  expect(sentIds(target)).toEqual(idsOf([...before, ...later]));
  expect(target.requests.map(({ bytes }, index) => bytes.equals(bodies[index] ?? Buffer.of()))).toEqual([
    true,
    true,
    true,
  ]);
});

test("keeps the order within each of many conversations while attempts fail", async () => {
  const spool = openTestSpool();
  const target = await startServer((_, response) =>
    response.writeHead(Math.random() < 0.3 ? 503 : 200).end(),
  );
  const accepted = await acceptAll(
    spool,
    Array.from({ length: 200 }, (_, index) => ({
      conversation: String(index % 10),
      body: Buffer.from(String(index)),
    })),
  );
  startTestForwarder(spool, { acme: target.url }, { backOff: { firstMs: 1, longestMs: 5 } });
  await waitUntilEmpty(spool);
  const numbers = target.requests.map(({ body }) => Number(body));
  expect(new Set(numbers).size).toBe(accepted.length);
  for (let conversation = 0; conversation < 10; conversation++) {
    const own = numbers.filter((number) => number % 10 === conversation);
    expect(own).toEqual(own.toSorted((one, other) => one - other));
  }
});

test("a delivery that fails holds back its conversation alone", async () => {
  const spool = openTestSpool();
  const target = await startServer(({ body }, response) =>
    response.writeHead(body.includes("bad") ? 500 : 200).end(),
  );
  startTestForwarder(spool, { acme: target.url, other: target.url });
  const [bad, behind] = await acceptAll(spool, [{ body: Buffer.from("bad") }, {}]);
  const free = await acceptAll(spool, [
    { conversation: "8" },
    { conversation: undefined },
    { conversation: undefined },
    { workspace: "other" },
  ]);
  await vi.waitFor(() => expect(listIds(spool)).toEqual([bad?.id, behind?.id]), WAIT);
  await vi.waitFor(() => expect(listAll(spool)[0]?.attempts).toBeGreaterThan(2), WAIT);
  expect(listAll(spool)[0]).toMatchObject({ failure: "HTTP 500" });
  expect(sentIds(target)).toEqual(expect.arrayContaining(idsOf(free)));
  expect(sentIds(target)).not.toContain(behind?.id);
});

test("a refused message is a dead letter at once, and frees its conversation", async () => {
  const spool = openTestSpool();
  const log = createTestLog();
  const target = await startServer((_, response, index) => response.writeHead(index === 0 ? 422 : 200).end());
  startTestForwarder(spool, { acme: target.url }, { log });
  const [refused, behind] = await acceptAll(spool, [{}, {}]);
  await vi.waitFor(() => expect(listIds(spool)).toEqual([]), WAIT);
  expect(spool.deadLetters.list({ limit: 10 })).toMatchObject([
    { id: refused?.id, failure: "HTTP 422", attempts: 1 },
  ]);
  expect(sentIds(target)).toEqual([refused?.id, behind?.id]);
  expect(log.events).toContainEqual({
    level: "error",
    event: "dead letter",
    fields: { workspace: "acme", id: refused?.id, failure: "HTTP 422", attempts: 1 },
  });
});

test("repeats with the same id and growing pauses until it is taken", async () => {
  const spool = openTestSpool();
  const target = await startServer((_, response, index) => response.writeHead(index < 4 ? 502 : 200).end());
  startTestForwarder(spool, { acme: target.url }, { backOff: { firstMs: 40, longestMs: 160 } });
  const [delivery] = await acceptAll(spool, [{}]);
  await waitUntilEmpty(spool);
  expect(sentIds(target)).toEqual(Array(5).fill(delivery?.id));
  const times = target.requests.map(({ atMs }) => atMs);
  const pauses = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
  // At least the lower half of 40, 80, 160 and 160.
  for (const [index, least] of [20, 40, 80, 80].entries())
    expect(pauses[index]).toBeGreaterThanOrEqual(least - 2);
});

test("waits as long as Retry-After says", async () => {
  const spool = openTestSpool();
  const target = await startServer((_, response, index) =>
    index === 0 ? response.writeHead(429, { "retry-after": "1" }).end() : response.end(),
  );
  startTestForwarder(spool, { acme: target.url });
  await acceptAll(spool, [{}]);
  await waitUntilEmpty(spool);
  const [first, second] = target.requests;
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
});

test("what could not be forwarded in time is a dead letter after a last attempt, and its conversation goes on", async () => {
  const spool = openTestSpool();
  const target = await startServer(({ body }, response) =>
    response.writeHead(body.includes("bad") ? 503 : 200, { "retry-after": "3600" }).end(),
  );
  startTestForwarder(spool, { acme: target.url }, { maxAgeMs: 200 });
  const [bad, behind] = await acceptAll(spool, [{ body: Buffer.from("bad") }, {}]);
  await waitForDeadLetters(spool, 1);
  await vi.waitFor(() => expect(listIds(spool)).toEqual([]), WAIT);
  const [letter] = spool.deadLetters.list({ limit: 1 });
  expect(letter).toMatchObject({ id: bad?.id, failure: "HTTP 503", attempts: 2 });
  expect((letter?.buriedMs ?? 0) - (letter?.acceptedMs ?? 0)).toBeGreaterThanOrEqual(200);
  expect(sentIds(target)).toEqual([bad?.id, bad?.id, behind?.id]);
});

test("a delivery without any time left is tried once before it is given up", async () => {
  const spool = openTestSpool();
  const accepted = await acceptAll(spool, [{}, {}]);
  await spool.queue.setForwarded(["acme"]);
  const target = await startServer((_, response, index) => response.writeHead(index === 0 ? 500 : 200).end());
  startTestForwarder(spool, { acme: target.url }, { maxAgeMs: 0 });
  await waitForDeadLetters(spool, 1);
  await vi.waitFor(() => expect(listIds(spool)).toEqual([]), WAIT);
  expect(sentIds(target)).toEqual(idsOf(accepted));
});

test("the age of what a workspace kept counts from when it gets a target, and not anew from each start", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path);
  await acceptAll(spool, [{}]);
  const change = (sql: string): void => withDatabase(path, (database) => database.exec(sql));
  change(
    "UPDATE deliveries SET accepted_ms = accepted_ms - 172800000, age_from_ms = age_from_ms - 172800000",
  );
  const target = await startServer((_, response) => response.writeHead(500).end());
  const first = startTestForwarder(spool, { acme: target.url });
  await vi.waitFor(() => expect(listAll(spool)[0]?.attempts).toBeGreaterThan(1), WAIT);
  await first.close();
  expect(listDeadIds(spool)).toEqual([]);

  // The target was given long ago, and has been tried ever since.
  change(`UPDATE forwarded_workspaces SET since_ms = since_ms - 172800000;
    UPDATE deliveries SET age_from_ms = age_from_ms - 172800000`);
  startTestForwarder(spool, { acme: target.url });
  await waitForDeadLetters(spool, 1);
});

test("time in which no forwarder ran does not count, whether a delivery was tried before or waited behind another", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path);
  const failing = await startServer((_, response) => response.writeHead(503).end());
  const first = startTestForwarder(spool, { acme: failing.url });
  const accepted = await acceptAll(spool, [{}, {}, { conversation: "8" }]);
  await vi.waitFor(
    () => expect(listAll(spool).map(({ attempts }) => attempts > 0)).toEqual([true, false, true]),
    WAIT,
  );
  await first.close();
  withDatabase(path, (database) => database.exec(SWITCHED_OFF_FOR_TWO_DAYS));

  const target = await startServer((_, response, index) => response.writeHead(index < 6 ? 503 : 200).end());
  startTestForwarder(spool, { acme: target.url });
  await waitUntilEmpty(spool);
  expect(new Set(sentIds(target))).toEqual(new Set(idsOf(accepted)));
});

/** What the file looks like after a weekend: every time in it is two days older. */
const SWITCHED_OFF_FOR_TWO_DAYS = `
  UPDATE deliveries SET accepted_ms = accepted_ms - 172800000,
    age_from_ms = age_from_ms - 172800000, due_ms = due_ms - 172800000;
  UPDATE forwarded_workspaces SET since_ms = since_ms - 172800000`;

test("a workspace without a target has its deliveries kept; another one's go on", async () => {
  const spool = openTestSpool();
  const target = await startServer();
  startTestForwarder(spool, { other: target.url });
  const [kept, forwarded] = await acceptAll(spool, [{ workspace: "acme" }, { workspace: "other" }]);
  await vi.waitFor(() => expect(listIds(spool)).toEqual([kept?.id]), WAIT);
  expect(sentIds(target)).toEqual([forwarded?.id]);
});

test("another target is tried at once, and what is in progress ends at the one before", async () => {
  const spool = openTestSpool();
  const answers: (() => void)[] = [];
  const slow = await startServer(({ body }, response) => {
    if (body.includes("slow")) answers.push(() => response.end());
    else response.writeHead(503, { "retry-after": "3600" }).end();
  });
  const next = await startServer();
  const forwarder = startTestForwarder(spool, { acme: slow.url });
  const [underWay, waiting] = await acceptAll(spool, [
    { body: Buffer.from("slow"), conversation: "1" },
    { conversation: "2" },
  ]);
  await vi.waitFor(() => expect(listAll(spool)[1]?.attempts).toBe(1), WAIT);
  forwarder.follow({ targets: targetsOf({ acme: next.url }), maxAgeMs: MAX_AGE_MS });
  await waitForRequests(next, 1);
  for (const answer of answers) answer();
  await waitUntilEmpty(spool);
  expect(sentIds(next)).toEqual([waiting?.id]);
  expect(sentIds(slow)).toEqual(expect.arrayContaining([underWay?.id]));
});

test("throws for a target that is no URL, and goes on as before", async () => {
  const spool = openTestSpool();
  const target = await startServer();
  const forwarder = startTestForwarder(spool, { acme: target.url });
  expect(() => forwarder.follow({ targets: targetsOf({ acme: "nowhere" }), maxAgeMs: MAX_AGE_MS })).toThrow(
    TypeError,
  );
  await acceptAll(spool, [{}]);
  await waitUntilEmpty(spool);
});

test("a replayed dead letter is forwarded with its id after wake, before what waits behind it", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path);
  const target = await startServer((_, response, index) => response.writeHead(index === 0 ? 400 : 200).end());
  const forwarder = startTestForwarder(spool, { acme: target.url });
  const [letter] = await acceptAll(spool, [{}]);
  await waitForDeadLetters(spool, 1);
  const other = openTestSpool(path, { create: false });
  expect(await other.deadLetters.replay({ all: true })).toBe(1);
  forwarder.wake();
  await waitUntilEmpty(spool);
  expect(sentIds(target)).toEqual([letter?.id, letter?.id]);
});

test("what waits is forwarded at once after wake, of one workspace or of every one", async () => {
  const spool = openTestSpool();
  let status = 503;
  const target = await startServer((_, response) => response.writeHead(status).end());
  const backOff = { firstMs: 3_600_000, longestMs: 3_600_000 };
  const forwarder = startTestForwarder(spool, { acme: target.url, beta: target.url }, { backOff });
  const [acme, beta] = await acceptAll(spool, [{}, { workspace: "beta" }]);
  const waiting = () => listAll(spool).filter(({ dueMs = 0 }) => dueMs > Date.now() + 30_000);
  await vi.waitFor(() => expect(waiting()).toHaveLength(2), WAIT);
  status = 200;
  forwarder.wake("beta");
  await vi.waitFor(() => expect(listIds(spool)).toEqual([acme?.id]), WAIT);
  expect(sentIds(target).filter((id) => id === beta?.id)).toHaveLength(2);
  forwarder.wake();
  await waitUntilEmpty(spool);
});

test("a replay during an attempt of the same conversation waits for its end, and then goes first", async () => {
  const spool = openTestSpool();
  let endSlow: (() => void) | undefined;
  const target = await startServer((_, response, index) => {
    if (index === 0) response.writeHead(400).end();
    else if (index === 1) endSlow = () => response.writeHead(503).end();
    else response.end();
  });
  const forwarder = startTestForwarder(spool, { acme: target.url });
  const [first] = await acceptAll(spool, [{}]);
  await waitForDeadLetters(spool, 1);
  const [slow] = await acceptAll(spool, [{}]);
  await waitForRequests(target, 2);
  await spool.deadLetters.replay({ all: true });
  forwarder.wake();
  // A delivery of another conversation gets through: had the first been begun, it would be there before.
  const [probe] = await acceptAll(spool, [{ conversation: "probe" }]);
  await waitForRequests(target, 3);
  expect(sentIds(target)).toEqual([first?.id, slow?.id, probe?.id]);
  endSlow?.();
  await waitUntilEmpty(spool);
  expect(sentIds(target)).toEqual([first?.id, slow?.id, probe?.id, first?.id, slow?.id]);
});

test.each([
  { workspaces: ["one"], most: 5 },
  { workspaces: ["one", "two"], most: 8 },
])("has $most attempts in progress at most for $workspaces, by its limits", async ({ workspaces, most }) => {
  const spool = openTestSpool();
  const open: number[] = [0];
  const answer: Answer = (_, response) => {
    open.push((open.at(-1) ?? 0) + 1);
    setTimeout(() => {
      open.push((open.at(-1) ?? 0) - 1);
      response.end();
    }, 20);
  };
  await acceptAll(
    spool,
    workspaces.flatMap((workspace) =>
      Array.from({ length: 40 }, () => ({ workspace, conversation: undefined })),
    ),
  );
  const urls: Record<string, string> = {};
  for (const workspace of workspaces) urls[workspace] = (await startServer(answer)).url;
  startTestForwarder(spool, urls, { limits: { perWorkspace: 5, total: 8 } });
  await waitUntilEmpty(spool);
  expect(Math.max(...open)).toBe(most);
});

test("a place that becomes free goes to the workspace with the fewest attempts in progress", async () => {
  const spool = openTestSpool();
  const hanging = await startServer(() => {});
  const good = await startServer();
  const limits = { perWorkspace: 4, total: 4 };
  startTestForwarder(spool, { hanging: hanging.url, good: good.url }, { limits, attemptTimeoutMs: 200 });
  await acceptAll(
    spool,
    Array.from({ length: 40 }, () => ({ workspace: "hanging", conversation: undefined })),
  );
  await waitForRequests(hanging, 4);
  const acceptedMs = performance.now();
  await acceptAll(spool, [{ workspace: "good" }]);
  await waitForRequests(good, 1);
  const { atMs = 0 } = good.requests[0] ?? {};
  const between = hanging.requests.filter((one) => one.atMs > acceptedMs && one.atMs < atMs);
  // Those that had been begun but had not come yet, and those of the places that became free together.
  expect(between.length).toBeLessThanOrEqual(8);
});

test("a target that hangs does not keep the deliveries of the others waiting", async () => {
  const spool = openTestSpool();
  const hanging = await startServer(() => {});
  const good = await startServer();
  startTestForwarder(
    spool,
    { hanging: hanging.url, good: good.url },
    { limits: { perWorkspace: 4, total: 6 } },
  );
  const workspaces = Array.from({ length: 100 }, (_, index) => (index < 50 ? "hanging" : "good"));
  await acceptAll(
    spool,
    workspaces.map((workspace) => ({ workspace, conversation: undefined })),
  );
  await waitForRequests(good, 50);
  await vi.waitFor(() => expect(spool.counts().get("good")).toBeUndefined(), WAIT);
  expect(hanging.requests).toHaveLength(4);
});

test("close lets what is in progress end within its time, and gives the rest back", async () => {
  const spool = openTestSpool();
  const target = await startServer(({ body }, response) => {
    if (body.includes("slow")) setTimeout(() => response.end(), 50);
  });
  const forwarder = startTestForwarder(spool, { acme: target.url }, { closeTimeoutMs: 300 });
  const [, hanging, behind] = await acceptAll(spool, [
    { body: Buffer.from("slow"), conversation: "1" },
    { body: Buffer.from("hangs"), conversation: "2" },
    { conversation: "2" },
  ]);
  await waitForRequests(target, 2);
  await forwarder.close();
  expect(listIds(spool)).toEqual([hanging?.id, behind?.id]);
  expect(listAll(spool).map(({ attempts }) => attempts)).toEqual([0, 0]);
  await acceptAll(spool, [{ conversation: "3" }]);
  expect(target.requests).toHaveLength(2);

  const next = await startServer();
  startTestForwarder(spool, { acme: next.url });
  await waitUntilEmpty(spool);
  expect(sentIds(next).filter((id) => id === hanging?.id)).toHaveLength(1);
});

test("what is taken and cannot be noted is not sent again, and is deleted when the spool works again", async () => {
  const spool = openTestSpool();
  const log = createTestLog();
  const target = await startServer();
  const complete = vi.spyOn(spool.queue, "complete");
  complete.mockRejectedValueOnce(new SqliteError("full", "the disk is full"));
  startTestForwarder(spool, { acme: target.url }, { log });
  const accepted = await acceptAll(spool, [{}, {}]);
  await waitUntilEmpty(spool);
  expect(sentIds(target)).toEqual(idsOf(accepted));
  expect(log.events).toMatchObject([
    { level: "error", event: "spool failed", fields: { error: "the disk is full" } },
  ]);
});

test("close ends although nothing can be noted", async () => {
  const spool = openTestSpool();
  const target = await startServer();
  const complete = vi.spyOn(spool.queue, "complete").mockRejectedValue(new SqliteError("full", "full"));
  const forwarder = startTestForwarder(spool, { acme: target.url });
  await acceptAll(spool, [{}]);
  await vi.waitFor(() => expect(complete).toHaveBeenCalled(), WAIT);
  await forwarder.close();
  expect(spool.counts().get("acme")).toEqual({ pending: 1, deadLetters: 0 });
});

test("is quiet while it waits: no query and no attempt before the next is due", async () => {
  const spool = openTestSpool();
  const target = await startServer((_, response) => response.writeHead(503, { "retry-after": "3600" }).end());
  startTestForwarder(spool, { acme: target.url });
  await acceptAll(
    spool,
    Array.from({ length: 5 }, (_, index) => ({ conversation: String(index) })),
  );
  await vi.waitFor(() => expect(listAll(spool).every(({ attempts }) => attempts === 1)).toBe(true), WAIT);
  const queries = vi.spyOn(spool.queue, "dueHeads");
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(queries.mock.calls.length).toBeLessThanOrEqual(2);
  expect(target.requests).toHaveLength(5);
});

test("stays quick with 100,000 deliveries waiting behind a target that is down", async () => {
  const target = await startServer();
  /** From the acceptance of a delivery until the target has it. */
  const medianMs = async (one: Spool): Promise<number> => {
    const took: number[] = [];
    for (let count = 0; count < 20; count++) {
      const begun = performance.now();
      const before = target.requests.length;
      await one.accept(makeDelivery());
      await waitForRequests(target, before + 1);
      took.push(performance.now() - begun);
    }
    return took.toSorted((a, b) => a - b)[10] ?? 0;
  };
  const empty = openTestSpool();
  startTestForwarder(empty, { acme: target.url });
  const alone = await medianMs(empty);
  const spool = openTestSpool();
  for (let batch = 0; batch < 20; batch++) {
    // Half of them in one conversation, half in 50,000.
    await Promise.all(
      Array.from({ length: 5_000 }, (_, index) =>
        spool.accept(
          makeDelivery({ workspace: "down", conversation: index % 2 ? "long" : `${batch}-${index}` }),
        ),
      ),
    );
  }
  const down = `http://127.0.0.1:${await freePort()}`;
  startTestForwarder(spool, { down, acme: target.url }, { backOff: { firstMs: 60_000, longestMs: 60_000 } });
  expect(await medianMs(spool)).toBeLessThan(20 * alone + 50);
}, 60_000);
