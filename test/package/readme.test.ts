import { mkdir, rm, writeFile } from "node:fs/promises";
import { execa } from "execa";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksOf, commandsIn, readPage, readPages, root } from "../support/pages.ts";

/** Inside the repository, so that the blocks resolve the package and its dependencies as a user's program does. */
const folder = `${root}node_modules/.readme-blocks`;
const pages = readPages();
const guide = readPage("examples/fleet/README.md");
const blocks = [...pages, guide].flatMap((page) =>
  blocksOf(page, "ts")
    // The generated SDK is not part of the package: test/engine/providers runs such a program.
    .filter((code) => !code.includes("pulumi-apichat-sdk"))
    .map((code, index) => ({
      file: `${folder}/${page.path.replaceAll(/[/.]/g, "-")}-${index + 1}.ts`,
      code,
    })),
);

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/package.json`, '{ "type": "module" }');
  await Promise.all(blocks.map(({ file, code }) => writeFile(file, code)));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("every TypeScript block compiles against the built package", () => {
  expect(blocks.length).toBeGreaterThan(15);
  const program = ts.createProgram(
    blocks.map(({ file }) => file),
    {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2024,
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ["node"],
      typeRoots: [`${root}node_modules/@types`],
    },
  );
  const errors = ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
  expect(errors).toEqual([]);
});

/** The words before the first argument or option are the command; words that begin with "--" are options. */
const commands = new Set(
  commandsIn(pages.flatMap((page) => blocksOf(page, "sh")))
    .map((line) => /^(?:npx --package \S+ )?apichat (\w.*)$/.exec(line)?.[1])
    .filter((line) => line !== undefined),
);

/** The help of each command, cached because many lines need the same one. */
const helps = new Map<string, Promise<string>>();
const readHelp = async (command: string): Promise<string> =>
  (await execa("node", [`${root}dist/provider/cli/main.js`, ...command.split(" "), "--help"])).stdout;

test.each([...commands])("apichat %s is a command with these options", async (line) => {
  const words = line.replace(/ [#>].*$/, "").match(/"[^"]*"|\S+/g) ?? [];
  const [first = "", sub = ""] = words;
  const hasSub = ["webhook", "send"].includes(first) || (first === "responder" && !sub.startsWith("-"));
  const command = hasSub ? `${first} ${sub}` : first;
  const help = helps.get(command) ?? readHelp(command);
  helps.set(command, help);
  expect(await help).toContain(`Usage: apichat ${command}`);
  for (const option of words.filter((word) => word.startsWith("--"))) {
    expect(await help).toContain(`  ${option} `);
  }
});
