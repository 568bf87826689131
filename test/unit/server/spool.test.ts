import { randomBytes } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { type AcceptedDelivery, openSpoolDatabase } from "../../../provider/server/spool/database.js";
import type { Call } from "../../../provider/server/spool/keeper.js";
import type { TakenDelivery } from "../../../provider/server/spool/spool.js";
import type { Batch } from "../../../provider/server/spool/spool-worker.js";
import { RESERVE_FILE } from "../../../provider/server/spool/volume.js";
import {
  acceptAll,
  accepting,
  holdDisk,
  listAll,
  listDeadIds,
  listIds,
  makeDelivery,
  NO_LIMITS,
  openKeeper,
  openTestSpool,
  REFUSED,
  spoolFile,
  startTaking,
  takeFirst,
  withDatabase,
} from "./spool-harness.js";

const WAIT = { timeout: 10_000 };
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const countDeliveries = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT count(*) AS count FROM deliveries").get()?.count);

/** Counts the transactions in the log of a spool. */
function countCommits(path: string): number {
  const log = readFileSync(`${path}-wal`);
  let count = 0;
  for (let at = 32; at < log.length; at += 24 + 4096) if (log.readUInt32BE(at + 4) > 0) count += 1;
  return count;
}

test("deliveries that arrive during a commit are committed together before they are acknowledged", async () => {
  const path = spoolFile();
  const spool = await openTestSpool(path);
  const before = countCommits(path);
  const endHold = holdDisk(path);
  let acknowledged = 0;
  const accept = () => spool.accept(makeDelivery()).then(() => acknowledged++);
  const accepted = [accept()];
  for (let turn = 0; turn < 5; turn++) {
    await setImmediate();
    accepted.push(...Array.from({ length: 10 }, accept));
  }
  expect([acknowledged, withDatabase(path, countDeliveries)]).toEqual([0, 0]);
  endHold();
  await Promise.all(accepted);
  expect(withDatabase(path, countDeliveries)).toBe(51);
  // One commit for the first delivery, and one for all others.
  expect(countCommits(path) - before).toBeLessThanOrEqual(2);
});

test("a spool limits the bytes of one batch, and the bytes that wait for the disk", async () => {
  const path = spoolFile();
  const spool = await openTestSpool(path);
  const endHold = holdDisk(path);
  const sent = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => sent.mockRestore());
  const given = Array.from({ length: 40 }, () => makeDelivery({ body: randomBytes(512 * 1024) }));
  const accepted = Promise.all(given.map((delivery) => spool.accept(delivery)));
  let hasRoom = false;
  const room = spool.waitForRoom().then(() => (hasRoom = true));
  await setImmediate();
  expect(hasRoom).toBe(false);
  endHold();
  await Promise.all([accepted, room]);
  const sizes = sent.mock.calls.map(([batch]) => (batch as Batch).calls.length);
  expect(sizes).toEqual([16, 16, 8]);
});

const show = ({ id, workspace, headers, body }: Omit<AcceptedDelivery, "conversation">) => ({
  id,
  workspace,
  headers,
  body: Buffer.from(body).toString("hex"),
});

test("a spool hands out each delivery once, from memory or from its file, and again after a release", async () => {
  const path = spoolFile();
  const before = await openTestSpool(path);
  const given = [1000, 1, 3000].map((size) => ({ conversation: undefined, body: randomBytes(size) }));
  const accepted = await acceptAll(before, given);
  await before.close();
  const spool = await openTestSpool(path);
  const taken = await startTaking(spool);
  accepted.push(...(await acceptAll(spool, given)));
  expect(taken.map(show)).toEqual(accepted.map(show));
  const [first] = taken as [TakenDelivery];
  await spool.ask("release", first.position);
  await vi.waitFor(() => expect(taken).toHaveLength(7), WAIT);
  expect(taken[6]).toMatchObject({ id: first.id });
});

test("a spool on a failing disk (simulated) rejects new deliveries but still forwards existing ones", () => {
  const { database, call, take } = openKeeper();
  call(...accepting());
  call("forward", ["acme"], []);
  const [taken] = take();
  const exec = database.exec.bind(database);
  const failing = vi.spyOn(database, "exec").mockImplementation((sql) => {
    if (sql === "COMMIT") throw Object.assign(new Error("disk I/O error"), { errcode: 1034 });
    exec(sql);
  });
  const failure = {
    code: "failed",
    message: expect.stringMatching(/I\/O.*: restart the responder/) as string,
  };
  expect(() => call(...accepting())).toThrow(expect.objectContaining(failure));
  failing.mockRestore();
  for (const add of [accepting(), ["check"] as Call])
    expect(() => call(...add)).toThrow(expect.objectContaining(failure));
  call("complete", taken?.position ?? 0);
  expect(countDeliveries(database)).toBe(0);
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
  "a spool whose spool.sqlite%s was %s rejects new deliveries, even once the file is back",
  (file, way) => {
    const path = spoolFile();
    const { call } = openKeeper(path);
    call(...accepting());
    GONE[way]?.(path + file);
    const failure = {
      code: "failed",
      message: expect.stringMatching(/removed or replaced.*restart/) as string,
    };
    expect(() => call(...accepting())).toThrow(expect.objectContaining(failure));
    if (way === "moved") renameSync(`${path + file}-before`, path + file);
    for (const add of [accepting(), ["check"] as Call])
      expect(() => call(...add)).toThrow(expect.objectContaining(failure));
  },
);

test("a damaged delivery delays only its workspace, and is reported", async () => {
  const path = spoolFile();
  const before = await openTestSpool(path);
  await acceptAll(before, [{ body: Buffer.alloc(20_000, "bad") }, { workspace: "other" }]);
  await before.close();
  const file = readFileSync(path);
  // Damages the pointer at the start of one of the body's pages.
  const page = file.indexOf("bad".repeat(1_355)) & ~4_095;
  file.fill(0xff, page, page + 4);
  writeFileSync(path, file);
  const spool = await openTestSpool(path);
  const reported = vi.fn<typeof spool.onUnreadable>();
  spool.onUnreadable = reported;
  const taken = await startTaking(spool, "acme", "other");
  expect(await takeFirst(taken)).toMatchObject({ workspace: "other" });
  expect(reported).toHaveBeenCalledWith(expect.objectContaining({ code: "failed" }));
});

test("if a read in a batch fails, the batch's other calls still succeed", () => {
  const { database, run } = openKeeper();
  database.exec("DROP TABLE dead_letters");
  expect(run(["counts"], accepting()).map(({ error }) => error?.code)).toEqual(["failed", undefined]);
});

test("SQLite's log of a killed process is moved into the spool's file before a delivery is accepted", () => {
  const [before, path] = [spoolFile(), spoolFile()];
  openKeeper(before).run(accepting(), accepting());
  // Copies the files in the state in which a killed process leaves them.
  cpSync(dirname(before), dirname(path), { recursive: true });
  const reader = openSpoolDatabase(path, false);
  onTestFinished(() => reader.close());
  reader.exec("BEGIN; SELECT count(*) FROM deliveries");
  const { call } = openKeeper(path);
  expect(() => call(...accepting())).toThrow(expect.objectContaining({ code: "busy" }));
  reader.exec("COMMIT");
  call(...accepting());
  rmSync(`${path}-wal`);
  const alone = spoolFile();
  copyFileSync(path, alone);
  expect(withDatabase(alone, countDeliveries)).toBe(2);
});

test("creates files that only the owner can access, and restricts a file that others can read", async () => {
  const path = spoolFile();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const spool = await openTestSpool(path);
  await spool.accept(makeDelivery());
  const files = readdirSync(dirname(path));
  const names = ["", "-reserve", "-shm", "-wal"].map((ending) => `spool.sqlite${ending}`);
  expect(files.toSorted()).toEqual(names);
  expect(files.map((file) => modeOf(join(dirname(path), file)))).toEqual(names.map(() => "600"));

  const loose = spoolFile();
  writeFileSync(loose, "", { mode: 0o644 });
  await openTestSpool(loose);
  expect(modeOf(loose)).toBe("600");
});

test("a delivery that does not fit on the disk is rejected, and later deliveries are accepted", () => {
  const { database, take, run, call } = openKeeper();
  const body = randomBytes(100_000);
  call(...accepting({ body }));
  call("forward", ["acme"], []);
  const [taken] = take();
  const pages = Number(database.prepare("PRAGMA page_count").get()?.page_count);
  database.exec(`PRAGMA max_page_count = ${pages + 4}`);
  expect(() => call(...accepting({ body }))).toThrow(expect.objectContaining({ code: "full" }));
  expect(countDeliveries(database)).toBe(1);

  // In one batch, a delivery that does not fit blocks neither the deletion that frees space nor the next delivery.
  const outcomes = run(accepting({ body: randomBytes(300_000) }), accepting({ body }), [
    "complete",
    taken?.position ?? 0,
  ]);
  expect(outcomes.map(({ error }) => error?.code)).toEqual(["full", undefined, undefined]);
  expect(countDeliveries(database)).toBe(1);
});

/** Turns the next deliveries into dead letters, as the forwarder does. */
async function buryNext(spool: Awaited<ReturnType<typeof openTestSpool>>, taken: TakenDelivery[], count = 1) {
  for (let left = count; left > 0; left--)
    await spool.ask("fail", (await takeFirst(taken)).position, REFUSED);
}

test("replays a dead letter with its original id, at its original position in the conversation", async () => {
  const spool = await openTestSpool();
  const ids = (await acceptAll(spool, [{}, {}, {}])).map(({ id }) => id);
  const [first, second, third] = ids;
  const taken = await startTaking(spool);
  await buryNext(spool, taken, 2);
  const last = await takeFirst(taken);
  await spool.ask("forward", [], []);
  await spool.ask("release", last.position);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([[third], [first, second]]);

  expect(await spool.replay({ ids: [second ?? "", "unknown"] })).toBe(1);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([[second, third], [first]]);
  expect(await spool.replay({})).toBe(1);
  expect([listIds(spool), listDeadIds(spool)]).toEqual([ids, []]);

  await spool.ask("forward", ["acme"], []);
  for (const id of ids) {
    const delivery = await takeFirst(taken);
    expect([delivery.id, taken]).toEqual([id, []]);
    await spool.ask("complete", delivery.position);
  }
});

test("a replayed dead letter is sent after a delivery of the same conversation that is in progress", async () => {
  const spool = await openTestSpool();
  const [first, second] = await acceptAll(spool, [{}, {}]);
  const taken = await startTaking(spool);
  await buryNext(spool, taken);
  const later = await takeFirst(taken);
  expect(later.id).toBe(second?.id);
  await spool.replay({});
  await spool.check();
  expect(taken).toEqual([]);
  await spool.ask("fail", later.position, { failure: "HTTP 503", pauseMs: 0, maxAgeMs: 60_000 });
  expect(await takeFirst(taken)).toMatchObject({ id: first?.id });
});

test("replays all dead letters of one workspace, and keeps those of others", async () => {
  const spool = await openTestSpool(spoolFile(), { limits: NO_LIMITS });
  const many = Array.from({ length: 450 }, () => ({ workspace: "a", conversation: undefined }));
  const taken = await startTaking(spool, "a", "b");
  await Promise.all([...many, { workspace: "b" }].map((given) => spool.accept(makeDelivery(given))));
  await vi.waitFor(() => expect(taken).toHaveLength(451), WAIT);
  await Promise.all(taken.map((delivery) => spool.ask("fail", delivery.position, REFUSED)));
  expect((await spool.ask("counts")).get("a")).toEqual({ pending: 0, deadLetters: 450 });
  await spool.ask("forward", [], []);
  expect(await spool.replay({ workspace: "a" })).toBe(450);
  const oldestMs = listAll(spool)[0]?.acceptedMs;
  expect((await spool.ask("counts")).get("a")).toEqual({ pending: 450, deadLetters: 0, oldestMs });
  expect((await spool.ask("counts")).get("b")).toEqual({ pending: 0, deadLetters: 1 });
});

test("removes forwarded messages from the disk, and keeps the files small", async () => {
  const path = spoolFile();
  const spool = await openTestSpool(path, { tidyAfterMs: 100, limits: NO_LIMITS });
  const secret = "a message nobody shall find";
  const taken = await startTaking(spool);
  for (let round = 0; round < 20; round++) {
    const bodies = Array.from({ length: 100 }, () => Buffer.from(secret.repeat(400)));
    await Promise.all(bodies.map((body) => spool.accept(makeDelivery({ body, conversation: undefined }))));
    await vi.waitFor(() => expect(taken).toHaveLength(100), WAIT);
    await Promise.all(taken.splice(0).map((delivery) => spool.ask("complete", delivery.position)));
  }
  const folder = dirname(path);
  const sizes = (): number =>
    readdirSync(folder)
      .filter((file) => file !== RESERVE_FILE)
      .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  // The spool stored 20 MiB in total, at most 1 MiB at a time.
  expect(sizes()).toBeLessThan(16 * 1024 * 1024);
  await vi.waitFor(() => expect(sizes()).toBeLessThan(256 * 1024), WAIT);
  for (const file of readdirSync(folder)) {
    expect(readFileSync(join(folder, file)).includes(secret), file).toBe(false);
  }
});
