import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { listAll, listDeadIds, openTestSpool, readDue, spoolFile, withDatabase } from "./spool-harness.js";

const ROUNDS = 10;
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Lets a process accept deliveries, kills it at a random moment, and gives what it said it had done: event and id. */
async function acceptUntilKilled(path: string, round: number): Promise<string[][]> {
  // A file keeps what a killed process has written; a pipe may not.
  const report = join(dirname(dirname(path)), `round-${round}`);
  const stdout = openSync(report, "w");
  const child = spawn(
    process.execPath,
    ["--import", here("../cli/run-sources.mjs"), here("accepting-process.ts"), path, String(round)],
    { stdio: ["ignore", stdout, "inherit"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  closeSync(stdout);
  const exited = once(child, "exit");
  await vi.waitFor(() => expect(readFileSync(report, "utf8")).toContain("accepted"), {
    timeout: 20_000,
    interval: 1,
  });
  await sleep(Math.random() * 150);
  child.kill("SIGKILL");
  expect(await exited).toEqual([null, "SIGKILL"]);
  return readFileSync(report, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "));
}

test("a process killed at any moment leaves all that it acknowledged, once and whole, and nothing that it completed", async () => {
  const path = spoolFile();
  const said: string[][] = [];
  for (let round = 0; round < ROUNDS; round++) said.push(...(await acceptUntilKilled(path, round)));
  const idsOf = (wanted: string): string[] =>
    said.flatMap(([event, id = ""]) => (event === wanted ? [id] : []));
  const accepted = idsOf("accepted");
  const completed = idsOf("completed");
  expect(accepted.length).toBeGreaterThan(ROUNDS * 10);
  expect(completed.length).toBeGreaterThan(0);

  const kept = listAll(openTestSpool(path));
  const keptIds = kept.map(({ id }) => id);
  expect(new Set(keptIds).size).toBe(keptIds.length);
  expect(listDeadIds(openTestSpool(path))).toEqual([]);
  const [present, mayBeGone, gone] = [new Set(keptIds), new Set(idsOf("completing")), new Set(completed)];
  expect(accepted.filter((id) => !present.has(id) && !mayBeGone.has(id))).toEqual([]);
  expect(keptIds.filter((id) => gone.has(id))).toEqual([]);
  for (const { id, headers, body } of kept) {
    expect(headers).toEqual([["x-id", id]]);
    expect(Buffer.compare(body, Buffer.alloc(body.length, id))).toBe(0);
  }
  expect(withDatabase(path, (database) => database.prepare("PRAGMA integrity_check").all())).toEqual([
    { integrity_check: "ok" },
  ]);

  // Of each conversation the first is due, and those behind it follow in their order.
  const spool = openTestSpool(path);
  const place = new Map(accepted.map((id, index) => [id, index]));
  const last = new Map<string | undefined, number>();
  for (let due = readDue(spool, 1000); due.length > 0; due = readDue(spool, 1000)) {
    expect(new Set(due.map(({ conversation }) => conversation)).size).toBe(due.length);
    for (const { id, conversation } of due) {
      // The last one of a conversation may be kept without having been acknowledged.
      const index = place.get(id) ?? accepted.length;
      expect(index).toBeGreaterThan(last.get(conversation) ?? -1);
      last.set(conversation, index);
    }
    await Promise.all(due.map((delivery) => spool.queue.complete(delivery)));
  }
  expect(listAll(spool)).toEqual([]);
}, 120_000);
