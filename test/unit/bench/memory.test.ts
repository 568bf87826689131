import { randomUUID } from "node:crypto";
import process from "node:process";
import { expect, it } from "vitest";
import { run } from "../../../tools/setup/run.mjs";
import { watchMemory } from "../../../tools/bench/memory.ts";

const mark = () => ({ name: "BENCH_TEST", value: randomUUID() });
const MEBIBYTE = 2 ** 20;

/** Holds so much in two processes, one the child of the other, long enough for the watch to look several times. */
const holdMemory = ({ name, value }: { name: string; value: string }): Promise<string> => {
  const hold = `const held = Buffer.alloc(${100 * MEBIBYTE}, 1); setTimeout(() => held.length, 1500);`;
  const both = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(hold)}]); ${hold}`;
  return run(process.execPath, ["-e", both], { env: { ...process.env, [name]: value } });
};

it("sums the processes that have the variable, and no others", async () => {
  const variable = mark();
  const watched = await watchMemory(variable, () => holdMemory(variable));
  const other = await watchMemory(mark(), () => holdMemory(variable));
  expect(other.peakBytes).toBe(0);
  expect(watched.peakBytes).toBeGreaterThan(200 * MEBIBYTE);
  expect(watched.peakBytes).toBeLessThan(500 * MEBIBYTE);
});

it("fails as the work fails", async () => {
  const failing = watchMemory(mark(), () => Promise.reject(new Error("no engine")));
  await expect(failing).rejects.toThrow("no engine");
});
