import { randomUUID } from "node:crypto";
import process from "node:process";
import { expect, it } from "vitest";
import { run } from "../../../tools/setup/run.mjs";
import { watchMemory } from "../../../tools/bench/memory.ts";

const MEBIBYTE = 2 ** 20;

/** Holds so much in two processes, one the child of the other, long enough for the watch to look several times. */
const holdMemory = (setting: string): Promise<string> => {
  const hold = `const held = Buffer.alloc(${100 * MEBIBYTE}, 1); setTimeout(() => held.length, 1500);`;
  const both = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(hold)}]); ${hold}`;
  const [name = "", value = ""] = setting.split("=");
  return run(process.execPath, ["-e", both], { env: { ...process.env, [name]: value } });
};

it("sums the processes that carry the setting, and no others", async () => {
  const setting = `BENCH_TEST=${randomUUID()}`;
  const watched = await watchMemory(setting, () => holdMemory(setting));
  const other = await watchMemory(`BENCH_TEST=${randomUUID()}`, () => holdMemory(setting));
  expect(other.peakBytes).toBe(0);
  expect(watched.peakBytes).toBeGreaterThan(200 * MEBIBYTE);
  expect(watched.peakBytes).toBeLessThan(500 * MEBIBYTE);
});

it("fails as the work fails", async () => {
  const failing = watchMemory(`BENCH_TEST=${randomUUID()}`, () => Promise.reject(new Error("no engine")));
  await expect(failing).rejects.toThrow("no engine");
});
