import { readFileSync, statSync, existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { createRedactor } from "../../../provider/lib/redact.js";
import { createLog, openLogFile, type LogFields } from "../../../provider/server/log.js";
import { KEY, makeFolder } from "./folders.js";

it("writes one JSON line an event, with time and level", () => {
  const lines: string[] = [];
  createLog((line) => lines.push(line)).warn("refused", { workspace: "acme", status: 401, code: undefined });
  expect(lines).toHaveLength(1);
  expect(lines[0]?.endsWith("}\n")).toBe(true);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
    level: "warn",
    event: "refused",
    workspace: "acme",
    status: 401,
  });
});

it("takes secrets out of every line, also encoded, and stays JSON", () => {
  const lines: string[] = [];
  const quoted = `a"b\\c-0123456789`;
  const log = createLog((line) => lines.push(line), createRedactor([KEY, quoted]));
  log.error("failed", { error: `the target said ${KEY} and ${encodeURIComponent(KEY)}`, other: quoted });
  expect(lines[0]).not.toContain("0123456789");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ event: "failed" });
});

it("leaves what the configuration names as it is, also where a key is a word of it", () => {
  const lines: string[] = [];
  createLog((line) => lines.push(line), createRedactor(["acme"])).info("refused", {
    workspace: "acme",
    path: "/acme",
  });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ workspace: "acme", path: "/[redacted]" });
});

it("does not throw for a line that cannot be written", () => {
  const failing = createLog(() => {
    throw new Error("the disk is gone");
  });
  const loop: Record<string, unknown> = {};
  loop["loop"] = loop;
  for (const fields of [{}, { error: 1n }, loop]) {
    expect(() => failing.error("failed", fields as LogFields)).not.toThrow();
  }
});

it("rotates its file before it is over the limit, keeps three, and all for the owner only", async () => {
  const file = join(await makeFolder(), "responder.log");
  const write = openLogFile(file, 100);
  const lines = Array.from({ length: 20 }, (_, index) => `${index} ${"x".repeat(30)}\n`);
  for (const line of lines) write(line);
  const files = [`${file}.2`, `${file}.1`, file];
  for (const one of files) {
    expect(statSync(one).size).toBeLessThanOrEqual(100);
    expect(statSync(one).mode & 0o777).toBe(0o600);
  }
  expect(existsSync(`${file}.3`)).toBe(false);
  // The newest lines in their order: nothing is lost between two files.
  const kept = files.map((one) => readFileSync(one, "utf8")).join("");
  expect(lines.join("").endsWith(kept)).toBe(true);
});

it("counts what is in its file already", async () => {
  const file = join(await makeFolder(), "responder.log");
  openLogFile(file, 100)(`${"a".repeat(80)}\n`);
  openLogFile(file, 100)(`${"b".repeat(80)}\n`);
  expect(readFileSync(file, "utf8")).toBe(`${"b".repeat(80)}\n`);
  expect(readFileSync(`${file}.1`, "utf8")).toBe(`${"a".repeat(80)}\n`);
});

it("writes one limited line of a kind in ten seconds, and then how many it suppressed", () => {
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
