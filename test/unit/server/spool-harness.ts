import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished, vi } from "vitest";
import { createLog, type Log } from "../../../provider/server/log.js";
import {
  type AcceptedDelivery,
  type DeadLetter,
  type KeptDelivery,
  openSpoolDatabase,
} from "../../../provider/server/spool/database.js";
import { findSpool, type SpoolFile } from "../../../provider/server/spool/file.js";
import { type Call, SpoolKeeper } from "../../../provider/server/spool/keeper.js";
import { openSpool, type Spool, type TakenDelivery } from "../../../provider/server/spool/spool.js";

/** Returns the path of a file in a new folder that is removed after the test. */
export function spoolFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "apichat-spool-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "spool.sqlite");
}

const paths = new WeakMap<Spool, string>();

/** Limits that no test reaches. */
export const NO_LIMITS = { perWorkspace: 10_000, total: 40_000 };

/** Opens a spool in this file or a new one; closes it after the test. */
export async function openTestSpool(
  path = spoolFile(),
  options?: Parameters<typeof openSpool>[1],
): Promise<Spool> {
  const spool = await openSpool(dirname(path), options);
  paths.set(spool, path);
  onTestFinished(() => spool.close());
  return spool;
}

/** Closes a spool, and opens its file again as the next process does. */
export async function reopen(spool: Spool): Promise<Spool> {
  await spool.close();
  return openTestSpool(paths.get(spool));
}

/** Collects the deliveries that a spool hands out. */
export async function startTaking(spool: Spool, ...workspaces: string[]): Promise<TakenDelivery[]> {
  const taken: TakenDelivery[] = [];
  spool.onDue = (delivery) => void taken.push(delivery);
  await spool.ask("forward", workspaces.length > 0 ? workspaces : ["acme"], []);
  return taken;
}

/** Waits for the next delivery that a spool hands out, and removes it from the list. */
export const takeFirst = (taken: TakenDelivery[]): Promise<TakenDelivery> =>
  vi.waitFor(() => {
    const delivery = taken.shift();
    if (delivery === undefined) throw new Error("nothing is due");
    return delivery;
  }, 20_000);

/** Runs the keeper of a spool in this thread, so that a test can also use its database and queue. */
export function openKeeper(path = spoolFile(), limits = NO_LIMITS) {
  const database = openSpoolDatabase(path, true);
  const keeper = new SpoolKeeper(database, limits, 60_000);
  onTestFinished(() => {
    if (database.isOpen) keeper.close();
  });
  const run = (...calls: Call[]) => keeper.run(calls, 0);
  /** Runs one call. Throws its error. */
  const call = (...one: Call) => {
    const [{ value, error } = {}] = run(one);
    if (error) throw Object.assign(new Error(error.message), error);
    return value;
  };
  const take = () =>
    keeper.queue.take((error) => {
      throw error;
    });
  return { database, keeper, run, call, take };
}

export function makeDelivery(given: Partial<AcceptedDelivery> = {}): AcceptedDelivery {
  return {
    id: randomUUID(),
    workspace: "acme",
    conversation: "7",
    headers: [["content-type", "application/json"]],
    body: Buffer.from('{"type":"text"}'),
    ...given,
  };
}

/** A failed attempt after which a delivery becomes a dead letter. */
export const REFUSED = { failure: "HTTP 400", pauseMs: 0, maxAgeMs: 0 };

/** The call that accepts a delivery. */
export function accepting(given: Partial<AcceptedDelivery> = {}): Call {
  const { conversation = null, headers, ...delivery } = makeDelivery(given);
  return ["accept", { ...delivery, conversation, headers: JSON.stringify(headers) }, 0];
}

/** Accepts the deliveries one after another, and returns them. */
export async function acceptAll(
  spool: Spool,
  given: Partial<AcceptedDelivery>[],
): Promise<AcceptedDelivery[]> {
  const deliveries = given.map(makeDelivery);
  for (const delivery of deliveries) await spool.accept(delivery);
  return deliveries;
}

/** Reads the file of a spool as a command does. */
function readSpool<T>(spool: Spool, read: (store: SpoolFile) => T): T {
  const store = findSpool(dirname(paths.get(spool) ?? ""));
  if (store === undefined) throw new Error("there is no spool");
  try {
    return read(store);
  } finally {
    store.close();
  }
}

export const listAll = (spool: Spool): KeptDelivery[] =>
  readSpool(spool, (store) => store.list({ limit: 1e6 }));
export const listIds = (spool: Spool): string[] => listAll(spool).map(({ id }) => id);
export const listDead = (spool: Spool): DeadLetter[] =>
  readSpool(spool, (store) => store.listDeadLetters({ limit: 1e6 }));
export const listDeadIds = (spool: Spool): string[] => listDead(spool).map(({ id }) => id);

/** Opens the file as a different program would. */
export function withDatabase<T>(path: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Locks the file through another connection, as if the disk hung. Returns a function that unlocks it. */
export function holdDisk(path: string): () => void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("BEGIN IMMEDIATE");
  const end = (): void => {
    if (database.isOpen) database.close();
  };
  onTestFinished(end);
  return end;
}

/** A log that keeps its lines. */
export function createTestLog(): Log & { lines: unknown[] } {
  const lines: unknown[] = [];
  return { ...createLog((line) => lines.push(JSON.parse(line))), lines };
}
