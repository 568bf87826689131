import { randomUUID } from "node:crypto";
import fs, { mkdtempSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, vi } from "vitest";
import type { Log } from "../../../provider/server/log.js";
import type { AcceptedDelivery } from "../../../provider/server/spool/database.js";
import { openSpool, type Spool, type TakenDelivery } from "../../../provider/server/spool/spool.js";

/** A file in a new folder, removed after the test. */
export function spoolFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "apichat-spool-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "data", "spool.sqlite");
}

/** A spool in its own file or in this one, closed after the test. */
export function openTestSpool(path = spoolFile(), tidyAfterMs?: number): Spool {
  const spool = openSpool(dirname(path), tidyAfterMs);
  onTestFinished(() => spool.close());
  return spool;
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

/** Accepts one delivery after the other, and returns them. */
export async function acceptAll(
  spool: Spool,
  given: Partial<AcceptedDelivery>[],
): Promise<AcceptedDelivery[]> {
  const deliveries = given.map(makeDelivery);
  for (const delivery of deliveries) await spool.accept(delivery);
  return deliveries;
}

/** Takes one due delivery. Throws if there is none. */
export function takeFirst(spool: Spool, workspace = "acme"): TakenDelivery {
  const [delivery] = spool.take(workspace, 1);
  if (delivery === undefined) throw new Error("nothing is due");
  return delivery;
}

/** Marks due deliveries as failed permanently, as the forwarder would. */
export async function buryDue(spool: Spool, limit = 1, workspace = "acme"): Promise<void> {
  await Promise.all(spool.take(workspace, limit).map((delivery) => spool.bury(delivery, "HTTP 400")));
}

export const listAll = (spool: Spool) => spool.list({ limit: 1_000_000 });
export const listIds = (spool: Spool): string[] => listAll(spool).map(({ id }) => id);
export const listDeadIds = (spool: Spool): string[] =>
  spool.listDeadLetters({ limit: 1_000_000 }).map(({ id }) => id);

/** Delays the disk: each call is one wait for it, which the test ends. */
export function holdDisk() {
  const sync = vi.spyOn(fs, "fdatasync").mockImplementation(() => undefined);
  syncBuiltinESMExports();
  onTestFinished(() => {
    sync.mockRestore();
    syncBuiltinESMExports();
  });
  const end = (error: NodeJS.ErrnoException | null = null): void => sync.mock.lastCall?.[1](error);
  const untilCalls = (count: number) => vi.waitFor(() => expect(sync).toHaveBeenCalledTimes(count));
  return { sync, end, untilCalls };
}

/** Opens the file as a different program would. */
export function withDatabase<T>(path: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

export interface LoggedEvent {
  level: string;
  event: string;
  fields: object;
}

/** A log that records its lines. */
export function createTestLog(): Log & { events: LoggedEvent[] } {
  const events: LoggedEvent[] = [];
  const note =
    (level: string) =>
    (event: string, fields: object = {}): void =>
      void events.push({ level, event, fields });
  const limited: Log["limited"] = (level, event, _kind, fields) => note(level)(event, fields);
  return { events, info: note("info"), warn: note("warn"), error: note("error"), limited };
}
