import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { createLog, openLogFile } from "../../../provider/server/log.js";
import { makeFolder } from "./harness.js";

it("a log rotates its file before the limit, and keeps two files that only the owner can read", async () => {
  const file = join(await makeFolder(), "responder.log");
  const lines = Array.from({ length: 20 }, (_, index) => `${index} ${"x".repeat(30)}\n`);
  let write = openLogFile(file, 100);
  for (const [index, line] of lines.entries()) {
    // The file's existing content counts toward the limit.
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

it("log.limited writes one line of each kind in ten seconds; the next line counts the suppressed ones", () => {
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
  const first = { time: expect.stringMatching(/T.*Z$/) as string, level: "warn", event: "refused", index: 0 };
  expect(lines).toEqual([first, { ...first, index: 1 }, { ...first, index: 1001, suppressed: 999 }]);
});
