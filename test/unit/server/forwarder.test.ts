import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { SqliteError } from "../../../provider/lib/sqlite.js";
import { Forwarder, type ForwarderOptions } from "../../../provider/server/forwarder.js";
import type { CallName } from "../../../provider/server/spool/keeper.js";
import type { Spool } from "../../../provider/server/spool/spool.js";
import { startServer, type Answer, type TestServer } from "../../support/http.js";
import {
  acceptAll,
  createTestLog,
  listAll,
  listDead,
  listDeadIds,
  listIds,
  openTestSpool,
  reopen,
  spoolFile,
  withDatabase,
} from "./spool-harness.js";

const WAIT = { timeout: 20_000, interval: 20 };
const idsOf = (rows: readonly ({ id: string } | undefined)[]): string[] => rows.map((row) => row?.id ?? "");
/** The ids of the deliveries that a target received. */
const sentIds = ({ requests }: TestServer): string[] =>
  requests.map(({ headers }) => String(headers["x-apichat-delivery-id"]));
const planOf = (urls: Record<string, string>, maxAgeMs = 60_000) => ({
  workspaces: Object.fromEntries(Object.entries(urls).map(([name, forwardTo]) => [name, { forwardTo }])),
  forwardWithinSeconds: maxAgeMs / 1000,
});

type Given = Partial<Omit<ForwarderOptions, "spool">> & { maxAgeMs?: number };

/** Makes the next call of this name fail as it would on a full disk. */
function failOnce(spool: Spool, name: CallName): void {
  const ask = spool.ask.bind(spool) as (...call: unknown[]) => Promise<never>;
  const failing = vi.spyOn(spool, "ask").mockImplementation((...call: unknown[]) => {
    if (call[0] !== name) return ask(...call);
    failing.mockRestore();
    return Promise.reject(new SqliteError("full", "the disk is full"));
  });
}

/** Starts a forwarder with pauses of a few milliseconds; closes it after the test. */
function startForwarder(
  spool: Spool,
  urls: Record<string, string>,
  { maxAgeMs, ...given }: Given = {},
): Forwarder {
  const backOff = { firstMs: 20, longestMs: 80 };
  const forwarder = new Forwarder({ spool, log: createTestLog(), backOff, closeTimeoutMs: 100, ...given });
  forwarder.follow(planOf(urls, maxAgeMs));
  onTestFinished(() => forwarder.close());
  return forwarder;
}

/** Opens a spool, and forwards its workspace acme to a target. */
async function setUp(answer?: Answer, given?: Given) {
  const spool = await openTestSpool();
  const target = await startServer(answer);
  return { spool, target, forwarder: startForwarder(spool, { acme: target.url }, given) };
}

/** Responds to the first requests with these statuses, and then with 200. */
const first =
  (...statuses: number[]): Answer =>
  (_, response, index) =>
    response.writeHead(statuses[index] ?? 200).end();
/** Responds with this status to bodies that contain "bad", and with 200 to others. */
const ifBad =
  (status: number, headers: Record<string, string> = {}): Answer =>
  ({ body }, response) =>
    response.writeHead(body.includes("bad") ? status : 200, headers).end();
const always =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(status, headers).end();
const BAD = { body: Buffer.from("bad") };
const alone = (count: number) => Array.from({ length: count }, () => ({ conversation: undefined }));

const untilIds = (spool: Spool, ids: unknown[]): Promise<void> =>
  vi.waitFor(() => expect(listIds(spool)).toEqual(ids), WAIT);
const untilEmpty = (spool: Spool): Promise<void> =>
  vi.waitFor(async () => expect(await spool.ask("counts")).toEqual(new Map()), WAIT);
const untilDead = (spool: Spool, count: number): Promise<void> =>
  vi.waitFor(() => expect(listDeadIds(spool)).toHaveLength(count), WAIT);
const untilRequests = ({ requests }: TestServer, count: number): Promise<void> =>
  vi.waitFor(() => expect(requests.length).toBeGreaterThanOrEqual(count), WAIT);

test("forwards deliveries byte for byte, whether accepted before or after its start, and deletes them", async () => {
  const spool = await openTestSpool();
  const target = await startServer();
  const bodies = [new Uint8Array(1), randomBytes(1024 * 1024), randomBytes(1000)];
  const headers = [["x-latin", "caf\u00e9 \u00ff\u0080"]] as const;
  const before = await acceptAll(spool, [{ body: bodies[0], headers }, { body: bodies[1] }]);
  startForwarder(spool, { acme: target.url });
  await untilRequests(target, 2);
  const later = await acceptAll(spool, [{ body: bodies[2] }]);
  await untilEmpty(spool);
  expect(sentIds(target)).toEqual(idsOf([...before, ...later]));
  expect(target.requests.every(({ bytes }, index) => bytes.equals(bodies[index] ?? Buffer.of()))).toBe(true);
  expect(target.requests[0]?.rawHeaders.join()).toContain(headers.join());
});

test("a failing delivery delays only its conversation, and a workspace without a target delays no other", async () => {
  const spool = await openTestSpool();
  const target = await startServer(ifBad(500));
  startForwarder(spool, { acme: target.url, other: target.url });
  const [bad, behind, kept] = await acceptAll(spool, [BAD, {}, { workspace: "kept" }]);
  const free = await acceptAll(spool, [{ conversation: "8" }, ...alone(2), { workspace: "other" }]);
  await untilIds(spool, [bad?.id, behind?.id, kept?.id]);
  await vi.waitFor(() => expect(listAll(spool)[0]?.attempts).toBeGreaterThan(2), WAIT);
  expect(listAll(spool)[0]).toMatchObject({ failure: "HTTP 500" });
  expect(sentIds(target)).toEqual(expect.arrayContaining(idsOf(free)));
  for (const id of [behind?.id, kept?.id]) expect(sentIds(target)).not.toContain(id);
});

test("a rejected message becomes a dead letter at once, and its conversation continues", async () => {
  const log = createTestLog();
  const { spool, target } = await setUp(first(422), { log });
  const [refused, behind] = await acceptAll(spool, [{}, {}]);
  await untilIds(spool, []);
  const letter = { id: refused?.id, failure: "HTTP 422", attempts: 1 };
  expect(listDead(spool)).toMatchObject([letter]);
  expect(sentIds(target)).toEqual([refused?.id, behind?.id]);
  expect(log.lines).toMatchObject([{ level: "error", event: "dead letter", workspace: "acme", ...letter }]);
});

test("after the back-off or Retry-After, a delivery is retried with the same id until it is accepted", async () => {
  const { spool, target } = await setUp(
    (_, response, index) => response.writeHead([502, 429][index] ?? 200, { "retry-after": `${index}` }).end(),
    { backOff: { firstMs: 40, longestMs: 40 } },
  );
  const [delivery] = await acceptAll(spool, [{}]);
  await untilEmpty(spool);
  expect(sentIds(target)).toEqual(Array(3).fill(delivery?.id));
  const [one = 0, two = 0, three = 0] = target.requests.map(({ atMs }) => atMs);
  // First pause: Retry-After is 0, so the back-off applies; jitter may halve it. Second pause: Retry-After, 1 s.
  expect(two - one).toBeGreaterThanOrEqual(18);
  expect(three - two).toBeGreaterThanOrEqual(990);
});

test("an expired delivery becomes a dead letter after one last attempt, and the others continue", async () => {
  const { spool, target } = await setUp(ifBad(503, { "retry-after": "3600" }), { maxAgeMs: 1_000 });
  const [bad, behind] = await acceptAll(spool, [BAD, {}]);
  await untilDead(spool, 1);
  await untilIds(spool, []);
  const [letter] = listDead(spool);
  expect(letter).toMatchObject({ id: bad?.id, failure: "HTTP 503", attempts: 2 });
  expect((letter?.buriedMs ?? 0) - (letter?.acceptedMs ?? 0)).toBeGreaterThanOrEqual(1_000);
  expect(sentIds(target)).toEqual([bad?.id, bad?.id, behind?.id]);
});

/** Moves these timestamps back by two days. */
function makeOlder(path: string, table: string, ...columns: string[]): void {
  const changes = columns.map((column) => `${column} = ${column} - 172800000`);
  withDatabase(path, (database) => database.exec(`UPDATE ${table} SET ${changes.join(", ")}`));
}

test("deliveries age only from the moment their workspace has a target, even after a restart", async () => {
  const path = spoolFile();
  const spool = await openTestSpool(path);
  await acceptAll(spool, [{}]);
  makeOlder(path, "deliveries", "accepted_ms", "age_from_ms");
  const target = await startServer(always(500));
  const before = startForwarder(spool, { acme: target.url });
  await vi.waitFor(() => expect(listAll(spool)[0]?.attempts).toBeGreaterThan(1), WAIT);
  await before.close();
  const again = await reopen(spool);
  expect(listDeadIds(again)).toEqual([]);
  // As if the target had been configured long ago and tried ever since.
  makeOlder(path, "forwarded_workspaces", "since_ms");
  makeOlder(path, "deliveries", "age_from_ms");
  startForwarder(again, { acme: target.url });
  await untilDead(again, 1);
});

test("a new target gets waiting deliveries at once, and requests to the previous one are completed", async () => {
  const answers: (() => void)[] = [];
  const next = await startServer();
  const { spool, target, forwarder } = await setUp(({ body }, response) => {
    if (body.includes("slow")) answers.push(() => response.end());
    else response.writeHead(503, { "retry-after": "3600" }).end();
  });
  const [slow, waiting] = await acceptAll(spool, [
    { body: Buffer.from("slow"), conversation: "1" },
    { conversation: "2" },
  ]);
  await vi.waitFor(() => expect(listAll(spool)[1]?.attempts).toBe(1), WAIT);
  forwarder.follow(planOf({ acme: next.url }));
  await untilRequests(next, 1);
  for (const answer of answers) answer();
  await untilEmpty(spool);
  expect(sentIds(next)).toEqual([waiting?.id]);
  expect(sentIds(target)).toContain(slow?.id);
});

test("a workspace without a target keeps its deliveries, and forwards them to its next target", async () => {
  const { spool, target, forwarder } = await setUp(always(503));
  const earlier = await acceptAll(spool, [{}]);
  await untilRequests(target, 1);
  forwarder.follow(planOf({}));
  await vi.waitFor(() => expect(listAll(spool)[0]?.dueMs).toBe(undefined), WAIT);
  const later = await acceptAll(spool, [{}, ...alone(3)]);
  const next = await startServer();
  forwarder.follow(planOf({ acme: next.url }));
  await untilEmpty(spool);
  expect(new Set(sentIds(target))).toEqual(new Set(idsOf(earlier)));
  expect(sentIds(next).toSorted()).toEqual(idsOf([...earlier, ...later]).toSorted());
});

/** Starts a target that keeps each request in progress until the test ends it through `held`. */
async function startHolding() {
  const held = new Set<() => void>();
  const target = await startServer((_, response) => {
    const end = (): void => void response.end();
    held.add(end);
    response.once("close", () => held.delete(end));
  });
  return { ...target, held };
}

const TIMEOUT_MS = 300;

test("a workspace whose last attempt timed out has one attempt at a time until its target responds", async () => {
  const spool = await openTestSpool(spoolFile(), { limits: { perWorkspace: 4, total: 16 } });
  const { held, ...target } = await startHolding();
  await acceptAll(spool, alone(12));
  startForwarder(spool, { acme: target.url }, { attemptTimeoutMs: TIMEOUT_MS });
  await untilRequests(target, 7);
  const [fifth = 0, sixth = 0, seventh = 0] = target.requests.slice(4).map(({ atMs }) => atMs);
  // A request that reaches the target late shortens the measured pause after it.
  for (const pauseMs of [sixth - fifth, seventh - sixth]) expect(pauseMs).toBeGreaterThan(TIMEOUT_MS / 3);
  await vi.waitFor(() => {
    // A response may come just after the time limit: so end one attempt after another until one is in time.
    if (held.size === 1) for (const end of held) end();
    expect(held.size).toBe(4);
  }, WAIT);
});

test("close waits for attempts in progress, and starts no more", async () => {
  let end: (() => void) | undefined;
  const answer: Answer = (_, response) => (end = () => response.end());
  const { spool, target, forwarder } = await setUp(answer, { closeTimeoutMs: 60_000 });
  const [, behind] = await acceptAll(spool, [{}, {}]);
  await untilRequests(target, 1);
  const closed = forwarder.close();
  end?.();
  await closed;
  await acceptAll(spool, [{ conversation: "8" }]);
  expect(listIds(spool)).toEqual([behind?.id, expect.any(String)]);
  expect(target.requests).toHaveLength(1);
});

test("close releases deliveries whose attempts do not end in time, and the next forwarder sends them", async () => {
  const { spool, target, forwarder } = await setUp(() => {});
  const [hanging] = await acceptAll(spool, [{}]);
  await untilRequests(target, 1);
  await forwarder.close();
  expect(listAll(spool)).toMatchObject([{ id: hanging?.id, attempts: 0 }]);
  const next = await startServer();
  const again = await reopen(spool);
  startForwarder(again, { acme: next.url });
  await untilEmpty(again);
  expect(sentIds(next)).toEqual([hanging?.id]);
});

test("if the success of a delivery cannot be recorded, it is not sent again, and is deleted later", async () => {
  const log = createTestLog();
  const { spool, target } = await setUp(undefined, { log });
  failOnce(spool, "complete");
  const accepted = await acceptAll(spool, [{}, {}]);
  await untilEmpty(spool);
  expect(sentIds(target)).toEqual(idsOf(accepted));
  expect(log.lines).toMatchObject([{ level: "error", event: "spool failed", error: "the disk is full" }]);
});

test("a plan that cannot be recorded at first is used only after it has been recorded", async () => {
  const path = spoolFile();
  const spool = await openTestSpool(path);
  failOnce(spool, "forward");
  await acceptAll(spool, [{}]);
  makeOlder(path, "deliveries", "accepted_ms", "age_from_ms");
  const target = await startServer(first(503));
  startForwarder(spool, { acme: target.url });
  await untilEmpty(spool);
  // Until the plan is recorded, the delivery is too old: a failed attempt would make it a dead letter.
  expect(listDeadIds(spool)).toEqual([]);
});

test("a previous target receives nothing more, even if the new plan cannot be recorded", async () => {
  const { spool, target, forwarder } = await setUp();
  const next = await startServer();
  const earlier = await acceptAll(spool, [{}]);
  await untilEmpty(spool);
  failOnce(spool, "forward");
  forwarder.follow({ workspaces: { acme: { forwardTo: next.url } } });
  const accepted = await acceptAll(spool, [{}]);
  await untilEmpty(spool);
  expect(sentIds(next)).toEqual(idsOf(accepted));
  expect(sentIds(target)).toEqual(idsOf(earlier));
});
