import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { createLog, openLogFile } from "../../../provider/server/log.js";
import { makeFolder } from "./harness.js";

it("writes one JSON line per event, whatever its fields contain, and omits undefined fields", () => {
  const lines: string[] = [];
  const log = createLog((line) => lines.push(line));
  log.warn("refused", { workspace: "acme", status: 401, code: undefined });
  log.error("failed", { error: "a\nb" });
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string;
  expect(lines.map((line) => line.split("\n").length)).toEqual([2, 2]);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { time, level: "warn", event: "refused", workspace: "acme", status: 401 },
    { time, level: "error", event: "failed", error: "a\nb" },
  ]);
});

it("rotates its file before the limit, and keeps two files, for the owner only", async () => {
  const file = join(await makeFolder(), "responder.log");
  const lines = Array.from({ length: 20 }, (_, index) => `${index} ${"x".repeat(30)}\n`);
  let write = openLogFile(file, 100);
  for (const [index, line] of lines.entries()) {
    // The existing content of the file counts.
    if (index === 16) write = openLogFile(file, 100);
    write(line);
  }
  const files = [`${file}.1`, file];
  for (const one of files) {
    expect(statSync(one).size).toBeLessThanOrEqual(100);
    expect(statSync(one).mode & 0o777).toBe(0o600);
  }
  // The newest lines in order: nothing is lost between the two files.
  const kept = files.map((one) => readFileSync(one, "utf8")).join("");
  expect(lines.join("").endsWith(kept)).toBe(true);
});

it("writes one limited line per kind in ten seconds, then the number of suppressed lines", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const lines: unknown[] = [];
  const log = createLog((line) => lines.push(JSON.parse(line)));
  const refuse = (workspace: string, index: number): void =>
    log.limited("warn", "refused", `${workspace} invalid_signature`, { index });
  for (let index = 0; index < 1000; index++) refuse("acme", index);
  refuse("beta", 1);
  vi.advanceTimersByTime(10_000);
  refuse("acme", 1001);
  expect(lines).toMatchObject([{ index: 0 }, { index: 1 }, { index: 1001, suppressed: 999 }]);
});
