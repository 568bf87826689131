import { randomBytes } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  fstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { RESERVE_FILE } from "../../../provider/server/spool/volume.js";
import { openSpool, Spool } from "../../../provider/server/spool/spool.js";
import { openSpoolDatabase } from "../../../provider/server/spool/database.js";
import {
  acceptAll,
  buryDue,
  holdDisk,
  listDeadIds,
  listIds,
  makeDelivery,
  openTestSpool,
  spoolFile,
  takeFirst,
  withDatabase,
} from "./spool-harness.js";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** A spool with its connection, for effects that are not visible from outside. */
function openWithDatabase(path: string): { spool: Spool; database: DatabaseSync } {
  openSpool(dirname(path)).close();
  const database = openSpoolDatabase(path, false);
  const spool = new Spool(database, 60_000);
  onTestFinished(() => spool.close());
  return { spool, database };
}

test("commits everything that one turn of the event loop accepts at once, and resolves after that", async () => {
  const path = spoolFile();
  const { spool, database } = openWithDatabase(path);
  expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
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

test("a delivery waits for the disk, and later ones for the next write; a deletion does not", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path);
  await acceptAll(spool, [{}]);
  const { sync, end, untilCalls } = holdDisk();
  const resolved: string[] = [];
  const accept = (name: string) => spool.accept(makeDelivery()).then(() => resolved.push(name));
  const first = accept("first");
  await untilCalls(1);
  // SQLite's log, which then contains the delivery.
  expect(fstatSync(sync.mock.lastCall?.[0] ?? -1).ino).toBe(statSync(`${path}-wal`).ino);
  expect(withDatabase(path, countDeliveries)).toBe(2);
  const second = accept("second");
  await spool.complete(takeFirst(spool));
  expect([resolved, sync.mock.calls.length]).toEqual([[], 1]);
  end();
  await first;
  expect([resolved, sync.mock.calls.length]).toEqual([["first"], 2]);
  end();
  await second;
});

test("a disk that fails rejects further deliveries, and existing ones can still be forwarded", async () => {
  const spool = openTestSpool();
  const [accepted] = await acceptAll(spool, [{}]);
  const { end, untilCalls } = holdDisk();
  const failing = [spool.accept(makeDelivery()), spool.check({ waitsForDisk: true })];
  await untilCalls(1);
  end(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" }));
  const failure = { name: "SqliteError", code: "failed", message: /EIO.*: restart the responder/ };
  const checks = [true, false].map((waitsForDisk) => spool.check({ waitsForDisk }));
  for (const write of [...failing, spool.accept(makeDelivery()), ...checks])
    await expect(write).rejects.toMatchObject({
      ...failure,
      message: expect.stringMatching(failure.message),
    });
  const taken = takeFirst(spool);
  expect(taken.id).toBe(accepted?.id);
  await spool.complete(taken);
});

const GONE: Record<string, (path: string) => void> = {
  removed: (path) => rmSync(path),
  moved: (path) => renameSync(path, `${path}-before`),
  replaced: (path) => {
    copyFileSync(path, `${path}-copy`);
    renameSync(`${path}-copy`, path);
  },
};

test.each(["", "-wal", "-shm"].flatMap((file) => Object.keys(GONE).map((way) => [file, way] as const)))(
  "a spool whose spool.sqlite%s was %s rejects further deliveries, even if the file returns",
  async (file, way) => {
    const path = spoolFile();
    const spool = openTestSpool(path);
    await acceptAll(spool, [{}]);
    GONE[way]?.(path + file);
    const failure = { code: "failed", message: expect.stringMatching(/removed or replaced.*restart/) };
    await expect(spool.accept(makeDelivery())).rejects.toMatchObject(failure);
    if (way === "moved") renameSync(`${path + file}-before`, path + file);
    const checks = [true, false].map((waitsForDisk) => spool.check({ waitsForDisk }));
    for (const write of [spool.accept(makeDelivery()), ...checks])
      await expect(write).rejects.toMatchObject(failure);
  },
);

test("the log that another process has left is in the file before a delivery is accepted", async () => {
  const [before, path] = [spoolFile(), spoolFile()];
  await acceptAll(openTestSpool(before), [{}, {}]);
  // As a killed process leaves it.
  cpSync(dirname(before), dirname(path), { recursive: true });
  const reader = openSpoolDatabase(path, false);
  onTestFinished(() => reader.close());
  reader.exec("BEGIN; SELECT count(*) FROM deliveries");
  const spool = openTestSpool(path);
  await expect(spool.accept(makeDelivery())).rejects.toMatchObject({ code: "busy" });
  reader.exec("COMMIT");
  await spool.accept(makeDelivery());
  rmSync(`${path}-wal`);
  const alone = spoolFile();
  await mkdir(dirname(alone));
  copyFileSync(path, alone);
  expect(withDatabase(alone, countDeliveries)).toBe(2);
});

test("keeps some accepted deliveries in memory, and reads the rest when those are taken", async () => {
  const { spool, database } = openWithDatabase(spoolFile());
  await spool.setForwarded(["acme"]);
  expect(spool.take("acme", 1)).toEqual([]);
  const given = Array.from({ length: 100 }, () => ({ conversation: undefined }));
  const accepted = await acceptAll(spool, given);
  const inMemory = database.prepare("SELECT count(*) AS count FROM taken").get();
  expect(inMemory).toEqual({ count: 64 });
  const taken = Array.from({ length: 10 }, () => spool.take("acme", 20)).flat();
  expect(taken.map(({ id }) => id)).toEqual(accepted.map(({ id }) => id));
  await Promise.all(taken.map((delivery) => spool.complete(delivery)));
  // As many bodies of 1 MiB as fit.
  await acceptAll(
    spool,
    given.slice(0, 10).map((one) => ({ ...one, body: Buffer.alloc(1024 * 1024) })),
  );
  expect(database.prepare("SELECT count(*) AS count FROM taken").get()).toEqual({ count: 7 });
});

const countDeliveries = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT count(*) AS count FROM deliveries").get()?.count);

test("a delivery that arrives as its workspace gets a target has the same age at each attempt", async () => {
  const spool = openTestSpool();
  const accepted = spool.accept(makeDelivery());
  const beginMs = spool.nowMs();
  while (spool.nowMs() < beginMs + 5);
  await Promise.all([accepted, spool.setForwarded(["acme"])]);
  const first = takeFirst(spool);
  await spool.reschedule(first, { failure: "HTTP 503", pauseMs: 0, maxAgeMs: 60_000 });
  expect(takeFirst(spool).ageFromMs).toBe(first.ageFromMs);
});

test("creates folder and files for their owner only, and fixes a file that others can read", async () => {
  const path = spoolFile();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const spool = openTestSpool(path);
  await spool.accept(makeDelivery());
  expect(modeOf(dirname(path))).toBe("700");
  const files = readdirSync(dirname(path));
  const names = ["", "-reserve", "-shm", "-wal"].map((ending) => `spool.sqlite${ending}`);
  expect(files.toSorted()).toEqual(names);
  expect(files.map((file) => modeOf(join(dirname(path), file)))).toEqual(names.map(() => "600"));

  const loose = spoolFile();
  await mkdir(dirname(loose));
  writeFileSync(loose, "", { mode: 0o644 });
  openTestSpool(loose);
  expect(modeOf(loose)).toBe("600");
});

test("a full disk rejects a delivery and keeps nothing of it; with free space the next one is accepted", async () => {
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

  // In one turn: a delivery that does not fit blocks neither the deletion that frees space nor one that
  // fits then.
  const done = takeFirst(spool);
  const next = makeDelivery({ body });
  const [large, fitting, completed] = await Promise.allSettled([
    spool.accept(makeDelivery({ body: randomBytes(300_000) })),
    spool.accept(next),
    spool.complete(done),
  ]);
  expect(large).toMatchObject({ status: "rejected", reason: { code: "full" } });
  expect([fitting.status, completed.status]).toEqual(["fulfilled", "fulfilled"]);
  expect(listIds(spool)).toEqual([next.id]);
});

test("replays a dead letter with its id at its place in its conversation", async () => {
  const spool = openTestSpool();
  const accepted = await acceptAll(spool, [{}, {}, {}]);
  const ids = accepted.map(({ id }) => id);
  const [first, second, third] = ids;
  await buryDue(spool);
  await buryDue(spool);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([[third], [first, second]]);

  expect(await spool.replay({ ids: [second ?? "", "unknown"] })).toBe(1);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([[second, third], [first]]);
  expect(await spool.replay({})).toBe(1);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([ids, []]);

  const order: string[] = [];
  for (let due = spool.take("acme", 10); due.length > 0; due = spool.take("acme", 10)) {
    await Promise.all(due.map((delivery) => spool.complete(delivery)));
    expect(due).toHaveLength(1);
    order.push(...due.map(({ id }) => id));
  }
  expect(order).toEqual(ids);
});

test("a replayed dead letter waits for a delivery of its conversation in progress, and is sent next", async () => {
  const spool = openTestSpool();
  const [first, second] = await acceptAll(spool, [{}, {}]);
  await buryDue(spool);
  const taken = takeFirst(spool);
  expect(taken.id).toBe(second?.id);
  await spool.replay({});
  expect(spool.take("acme", 10)).toEqual([]);
  await spool.reschedule(taken, { failure: "HTTP 503", pauseMs: 0, maxAgeMs: 60_000 });
  expect(spool.take("acme", 10)).toMatchObject([{ id: first?.id }]);
});

test("replays all of one workspace, however many, and keeps the others", async () => {
  const spool = openTestSpool();
  const many = Array.from({ length: 450 }, () => ({ workspace: "a", conversation: undefined }));
  await Promise.all([...many, { workspace: "b" }].map((given) => spool.accept(makeDelivery(given))));
  for (const workspace of ["a", "b"]) await buryDue(spool, 1000, workspace);
  expect(spool.counts().get("a")).toEqual({ pending: 0, deadLetters: 450 });
  expect(await spool.replay({ workspace: "a" })).toBe(450);
  const oldestMs = spool.list({ limit: 1 })[0]?.acceptedMs;
  expect(spool.counts().get("a")).toEqual({ pending: 450, deadLetters: 0, oldestMs });
  expect(spool.counts().get("b")).toEqual({ pending: 0, deadLetters: 1 });
});

test("removes forwarded messages from the disk, and keeps the files small for any amount of deliveries", async () => {
  const path = spoolFile();
  const spool = openTestSpool(path, 100);
  const secret = "a message nobody shall find";
  for (let round = 0; round < 20; round++) {
    const bodies = Array.from({ length: 100 }, () => Buffer.from(secret.repeat(400)));
    await Promise.all(bodies.map((body) => spool.accept(makeDelivery({ body, conversation: undefined }))));
    const due = spool.take("acme", 1000);
    await Promise.all(due.map((delivery) => spool.complete(delivery)));
  }
  const folder = dirname(path);
  const sizes = (): number =>
    readdirSync(folder)
      .filter((file) => file !== RESERVE_FILE)
      .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  // 20 MiB in total, at most 1 MiB at a time.
  expect(sizes()).toBeLessThan(16 * 1024 * 1024);
  await vi.waitFor(() => expect(sizes()).toBeLessThan(256 * 1024), { timeout: 10_000 });
  for (const file of readdirSync(folder)) {
    expect(readFileSync(join(folder, file)).includes(secret), file).toBe(false);
  }
});
