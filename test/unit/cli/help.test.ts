import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { fleetProgram } from "../../../provider/cli/fleet/program.js";
import { wrapHelp } from "../../../provider/cli/help.js";
import { apichatProgram } from "../../../provider/cli/program.js";

/** Returns all commands of a program, each with its full name, except those that only group others. */
function listCommands(command: Command, name = command.name()): [string, Command][] {
  const shown = command.createHelp().visibleCommands(command);
  const below = shown.filter((one) => one.name() !== "help");
  const isGroup = command.parent !== null && below.length > 0;
  return [
    ...(isGroup ? [] : [[name, command] as [string, Command]]),
    ...below.flatMap((one) => listCommands(one, `${name} ${one.name()}`)),
  ];
}

function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}

test("help wraps paragraphs and keeps indented lines", () => {
  const example = "  $ apichat webhook plan --file the-list-of-workspaces.yaml\n";
  const text = `One two\nthree four, five six seven eight nine ten.\n\nExamples:\n${example}`;
  expect(wrapHelp(text, 48)).toBe(
    `One two three four, five six seven eight nine\nten.\n\nExamples:\n${example}`,
  );
});

const fleet = fleetProgram({ name: "node fleet.ts", open: () => Promise.reject(new Error("not opened")) });

test.each([...listCommands(apichatProgram()), ...listCommands(fleet)])(
  "the help of %s has examples and exit codes",
  (name, command) => {
    const help = helpOf(command);
    expect(help).toMatch(/\nExamples?:\n {2}\$ /);
    expect(help).toContain(name);
    expect(help).toMatch(/\nExit codes?: 0 /);
    expect(help).not.toContain("\u001b");
    const long = wrapHelp(help, 80)
      .split("\n")
      .filter((line) => line.length > 80);
    expect(long.filter((line) => !line.startsWith("  $ "))).toEqual([]);
  },
);

test("every flag that an error names exists in some command", () => {
  const renderer = readFileSync(new URL("../../../provider/errors/hints.ts", import.meta.url), "utf8");
  const named = [...renderer.matchAll(/: "(--[a-z\d-]+)"/g)].map(([, flag]) => flag);
  expect(named.length).toBeGreaterThan(5);
  const commands = [...listCommands(apichatProgram()), ...listCommands(fleet)].map(([, command]) => command);
  const known = commands.flatMap(({ options }) => options.map(({ long }) => long));
  expect(named.filter((flag) => !known.includes(flag))).toEqual([]);
});
