import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isDue, runIfDue } from "../../../tools/setup/stamps.mjs";
import { makeFolder } from "./fixtures/fakes.ts";

function makeStep() {
  const folder = makeFolder();
  mkdirSync(join(folder, "sources"));
  writeFileSync(join(folder, "sources", "one.ts"), "1");
  writeFileSync(join(folder, "settings.json"), "{}");
  const output = join(folder, "output");
  const step = {
    stamp: join(folder, "done"),
    inputs: [join(folder, "sources"), join(folder, "settings.json")],
    outputs: [output],
  };
  return { folder, step, work: async () => writeFileSync(output, "") };
}

test("a step is due once, and again when an input changes, comes, goes, or the output is gone", async () => {
  const { folder, step, work } = makeStep();
  const changes = [
    () => writeFileSync(join(folder, "sources", "one.ts"), "2"),
    () => writeFileSync(join(folder, "sources", "two.ts"), "1"),
    () => rmSync(join(folder, "sources", "two.ts")),
    () => writeFileSync(join(folder, "settings.json"), "[]"),
    () => rmSync(join(folder, "output")),
  ];
  expect(await isDue(step)).toBe(true);
  for (const change of changes) {
    await runIfDue(step, work);
    expect(await isDue(step)).toBe(false);
    change();
    expect(await isDue(step)).toBe(true);
  }
});

test("a step that failed, or whose input changed while it ran, is due again", async () => {
  const { folder, step, work } = makeStep();
  await runIfDue(step, work);
  writeFileSync(join(folder, "sources", "one.ts"), "changed");
  await expect(runIfDue(step, () => Promise.reject(new Error("broken off")))).rejects.toThrow("broken off");
  expect(await isDue(step)).toBe(true);
  await runIfDue(step, async () => {
    await work();
    writeFileSync(join(folder, "sources", "one.ts"), "changed meanwhile");
  });
  expect(await isDue(step)).toBe(true);
});
