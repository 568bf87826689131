import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { openSpool, Spool } from "../../../provider/server/spool/spool.js";
import { openSpoolDatabase } from "../../../provider/server/spool/database.js";
import {
  acceptAll,
  buryFirst,
  listAll,
  listDeadIds,
  listIds,
  makeDelivery,
  openTestSpool,
  spoolFile,
  withDatabase,
} from "./spool-harness.js";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** A spool with its connection, for what cannot be seen or brought about from outside. */
function openWithDatabase(path: string): { spool: Spool; database: DatabaseSync } {
  openSpool(path).close();
  const database = openSpoolDatabase(path, false);
  const spool = new Spool(database, 60_000);
  onTestFinished(() => spool.close());
  return { spool, database };
}

test("keeps what it accepts, in its order, with headers and body byte for byte", async () => {
  const spool = openTestSpool();
  const headers = [
    ["X-Many", "one"],
    ["x-latin", "caf\u00e9 \u00ff\u0080"],
    ["x-many", "two"],
    ["x-empty", ""],
  ] as const;
  const bodies = [
    new Uint8Array(0),
    Uint8Array.from({ length: 256 }, (_, byte) => byte),
    randomBytes(1024 * 1024),
  ];
  const accepted = await acceptAll(
    spool,
    bodies.map((body, index) => ({ body, headers, conversation: index === 0 ? undefined : "c" })),
  );
  const kept = listAll(spool);
  expect(kept.map(({ id }) => id)).toEqual(accepted.map(({ id }) => id));
  expect(kept.map(({ conversation }) => conversation)).toEqual([undefined, "c", "c"]);
  for (const [index, { body, headers: keptHeaders }] of kept.entries()) {
    expect(Buffer.compare(body, bodies[index] ?? Buffer.of(1))).toBe(0);
    expect(keptHeaders).toEqual(headers);
  }
});

test("commits what one turn of the event loop accepts once, and resolves after the commit", async () => {
  const path = spoolFile();
  const { spool, database } = openWithDatabase(path);
  const exec = vi.spyOn(database, "exec");
  let visible = -1;
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      await spool.accept(makeDelivery());
      if (visible === -1) visible = withDatabase(path, countDeliveries);
    }),
  );
  expect(exec.mock.calls.filter(([sql]) => sql === "COMMIT")).toHaveLength(1);
  expect(visible).toBe(50);
});

const countDeliveries = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT count(*) AS count FROM deliveries").get()?.count);

test("uses a log in the file system and waits for the disk at each commit", () => {
  const { database } = openWithDatabase(spoolFile());
  expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  expect(database.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
});

test("makes folder and files for their owner only, whatever the umask, and fixes a file that others can read", async () => {
  const path = spoolFile();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const spool = openTestSpool(path);
  await spool.accept(makeDelivery());
  expect(modeOf(dirname(path))).toBe("700");
  const files = readdirSync(dirname(path));
  expect(files.toSorted()).toEqual(["spool.sqlite", "spool.sqlite-shm", "spool.sqlite-wal"]);
  expect(files.map((file) => modeOf(join(dirname(path), file)))).toEqual(["600", "600", "600"]);

  const loose = spoolFile();
  await mkdir(dirname(loose));
  writeFileSync(loose, "", { mode: 0o644 });
  openTestSpool(loose);
  expect(modeOf(loose)).toBe("600");
});

test("refuses a file of a later release, of another program, and one that is no database", async () => {
  const later = spoolFile();
  openSpool(later).close();
  withDatabase(later, (database) => database.exec("PRAGMA user_version = 2"));
  expect(() => openSpool(later)).toThrow(
    expect.objectContaining({
      code: "newer",
      message: expect.stringContaining("version 2, this release reads version 1"),
    }),
  );

  const foreign = spoolFile();
  await mkdir(dirname(foreign));
  withDatabase(foreign, (database) => database.exec("CREATE TABLE notes (text)"));
  const before = readFileSync(foreign);
  expect(() => openSpool(foreign)).toThrow(expect.objectContaining({ code: "foreign" }));
  expect(readFileSync(foreign)).toEqual(before);

  const text = spoolFile();
  await mkdir(dirname(text));
  writeFileSync(text, "not a database, but long enough to be taken for one ".repeat(100));
  expect(() => openSpool(text)).toThrow(
    expect.objectContaining({ code: "foreign", message: expect.stringContaining(text) }),
  );
});

test("ends where the file system makes no folder, and where a file is in the way", () => {
  expect(() => openSpool("/proc/nope/spool.sqlite")).toThrow(expect.objectContaining({ code: "ENOENT" }));
  const path = spoolFile();
  writeFileSync(dirname(path), "");
  expect(() => openSpool(path)).toThrow(`${dirname(path)} is not a folder`);
});

test("makes no file if it is told not to", () => {
  const path = spoolFile();
  expect(() => openSpool(path, { create: false })).toThrow(expect.objectContaining({ code: "failed" }));
  expect(() => statSync(path)).toThrow("ENOENT");
});

test("a full disk refuses a delivery and keeps nothing of it; with room again the next one is accepted", async () => {
  const { spool, database } = openWithDatabase(spoolFile());
  const body = randomBytes(100_000);
  const [first] = await acceptAll(spool, [{ body }]);
  const pages = Number(database.prepare("PRAGMA page_count").get()?.page_count);
  database.exec(`PRAGMA max_page_count = ${pages + 4}`);
  await expect(spool.accept(makeDelivery({ body }))).rejects.toMatchObject({
    name: "SqliteError",
    code: "full",
  });
  expect(listIds(spool)).toEqual([first?.id]);

  // In one turn: what does not fit holds back neither the deletion that makes room nor what fits into that.
  const [head] = spool.queue.dueHeads("acme", Date.now(), 1);
  const done = spool.queue.read(head?.position ?? 0);
  if (done === undefined) throw new Error("nothing is due");
  const next = makeDelivery({ body });
  const [large, fitting, completed] = await Promise.allSettled([
    spool.accept(makeDelivery({ body: randomBytes(300_000) })),
    spool.accept(next),
    spool.queue.complete(done),
  ]);
  expect(large).toMatchObject({ status: "rejected", reason: { code: "full" } });
  expect([fitting.status, completed.status]).toEqual(["fulfilled", "fulfilled"]);
  expect(listIds(spool)).toEqual([next.id]);
});

test("refuses an id that it has already, and only that delivery of its turn", async () => {
  const spool = openTestSpool();
  const [first, second] = [makeDelivery(), makeDelivery()];
  const outcomes = await Promise.allSettled([first, first, second].map((delivery) => spool.accept(delivery)));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(listIds(spool)).toEqual([first.id, second.id]);
});

test("commits what waits when it is closed, and refuses what comes later", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path);
  const delivery = makeDelivery();
  const accepted = spool.accept(delivery);
  spool.close();
  await accepted;
  await expect(spool.accept(makeDelivery())).rejects.toMatchObject({ code: "closed" });
  expect(listIds(openTestSpool(path))).toEqual([delivery.id]);
});

test("lists by workspace and from where the last list ended, and counts", async () => {
  const spool = openTestSpool();
  await acceptAll(spool, [{ workspace: "a" }, { workspace: "b" }, { workspace: "a" }, { workspace: "a" }]);
  await buryFirst(spool, "b");
  const [first, ...rest] = spool.list({ workspace: "a", limit: 2 });
  expect(rest).toHaveLength(1);
  expect(spool.list({ workspace: "a", limit: 9, after: first?.position })).toHaveLength(2);
  expect(spool.list({ workspace: "b", limit: 9 })).toEqual([]);
  expect(spool.deadLetters.list({ workspace: "a", limit: 9 })).toEqual([]);
  expect(spool.deadLetters.list({ workspace: "b", limit: 9 })).toMatchObject([
    { workspace: "b", failure: "HTTP 400", attempts: 1 },
  ]);
  expect(spool.counts()).toEqual(
    new Map([
      ["a", { pending: 3, deadLetters: 0 }],
      ["b", { pending: 0, deadLetters: 1 }],
    ]),
  );
});

test("replays a dead letter with its id to where it stood in its conversation", async () => {
  const spool = openTestSpool();
  const accepted = await acceptAll(spool, [{}, {}, {}]);
  const ids = accepted.map(({ id }) => id);
  const [first, second, third] = ids;
  await buryFirst(spool);
  await buryFirst(spool);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([[third], [first, second]]);

  expect(await spool.deadLetters.replay({ ids: [second ?? "", "unknown"] })).toBe(1);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([[second, third], [first]]);
  expect(await spool.deadLetters.replay({ all: true })).toBe(1);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([ids, []]);

  const order: unknown[] = [];
  for (;;) {
    const heads = spool.queue.dueHeads("acme", Date.now(), 10);
    expect(heads.length).toBeLessThanOrEqual(1);
    const delivery = heads[0] && spool.queue.read(heads[0].position);
    if (delivery === undefined) break;
    order.push(delivery.id);
    await spool.queue.complete(delivery);
  }
  expect(order).toEqual(ids);
});

test("a delivery under way is not due again behind a dead letter that was replayed before it", async () => {
  const spool = openTestSpool();
  const [letter] = await acceptAll(spool, [{}]);
  await buryFirst(spool);
  await acceptAll(spool, [{}]);
  const [head] = spool.queue.dueHeads("acme", Date.now(), 1);
  const underWay = spool.queue.read(head?.position ?? 0);
  if (underWay === undefined) throw new Error("nothing is due");
  await spool.deadLetters.replay({ all: true });
  await spool.queue.reschedule(underWay, { failure: "HTTP 503", dueMs: Date.now() });
  const due = spool.queue.dueHeads("acme", Date.now(), 10);
  expect(due.map(({ position }) => spool.queue.read(position)?.id)).toEqual([letter?.id]);
});

test("replays all of one workspace, however many, and leaves the others", async () => {
  const spool = openTestSpool();
  const many = Array.from({ length: 450 }, () => ({ workspace: "a", conversation: undefined }));
  await Promise.all([...many, { workspace: "b" }].map((given) => spool.accept(makeDelivery(given))));
  for (const workspace of ["a", "b"]) {
    const heads = spool.queue.dueHeads(workspace, Date.now(), 1000);
    const due = heads.map(({ position }) => spool.queue.read(position)).filter((one) => one !== undefined);
    await Promise.all(due.map((delivery) => spool.queue.bury(delivery, "HTTP 400")));
  }
  expect(spool.counts().get("a")).toEqual({ pending: 0, deadLetters: 450 });
  expect(await spool.deadLetters.replay({ all: true, workspace: "a" })).toBe(450);
  expect(spool.counts().get("a")).toEqual({ pending: 450, deadLetters: 0 });
  expect(spool.counts().get("b")).toEqual({ pending: 0, deadLetters: 1 });
});

test("reads and replays from a second process's connection while the first goes on accepting", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path);
  await acceptAll(
    spool,
    Array.from({ length: 20 }, () => ({ conversation: undefined })),
  );
  for (let count = 0; count < 20; count++) await buryFirst(spool);
  const other = openTestSpool(path, { create: false });
  const accepting = Promise.all(Array.from({ length: 200 }, () => spool.accept(makeDelivery())));
  expect(await other.deadLetters.replay({ all: true })).toBe(20);
  await accepting;
  expect(other.list({ limit: 1000 })).toHaveLength(220);
  expect(spool.counts()).toEqual(new Map([["acme", { pending: 220, deadLetters: 0 }]]));
});

test("takes forwarded messages off the disk, and keeps the files small however much goes through", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path, { tidyAfterMs: 100 });
  const secret = "a message nobody shall find";
  for (let round = 0; round < 20; round++) {
    const bodies = Array.from({ length: 100 }, () => Buffer.from(secret.repeat(400)));
    await Promise.all(bodies.map((body) => spool.accept(makeDelivery({ body, conversation: undefined }))));
    const heads = spool.queue.dueHeads("acme", Date.now(), 1000);
    const due = heads.map(({ position }) => spool.queue.read(position)).filter((one) => one !== undefined);
    await Promise.all(due.map((delivery) => spool.queue.complete(delivery)));
  }
  const folder = dirname(path);
  const sizes = (): number =>
    readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  // 20 MiB went through, at most 1 MiB at a time.
  expect(sizes()).toBeLessThan(16 * 1024 * 1024);
  await vi.waitFor(() => expect(sizes()).toBeLessThan(256 * 1024), { timeout: 10_000 });
  for (const file of readdirSync(folder)) {
    expect(readFileSync(join(folder, file)).includes(secret), file).toBe(false);
  }
});
