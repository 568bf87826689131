import { mkdir, rm, writeFile } from "node:fs/promises";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apichatProgram } from "../../dist/provider/cli/program.js";
import { blocksOf, commandsIn, readPage, readPages, root } from "../support/pages.ts";

/** A folder for the blocks inside the repository, so that they can import the package and its dependencies. */
const folder = `${root}node_modules/.readme-blocks`;
const pages = readPages();
const guide = readPage("examples/fleet/README.md");
const blocks = [...pages, guide].flatMap((page) =>
  blocksOf(page, "ts")
    // The package does not contain the generated SDK: providers.test.ts tests the blocks that import it.
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

/** The lines on the pages that run `apichat`, each without this word: the command's name, arguments and options. */
const commands = new Set(
  commandsIn(pages.flatMap((page) => blocksOf(page, "sh")))
    .map((line) => /^(?:npx --package \S+ )?apichat (\w.*)$/.exec(line)?.[1])
    .filter((line) => line !== undefined),
);

test.each([...commands])("apichat %s: the command exists, and has each option in this line", (line) => {
  const words = line.replace(/ [#>].*$/, "").match(/"[^"]*"|\S+/g) ?? [];
  let command = apichatProgram();
  for (const word of words) command = command.commands.find((one) => one.name() === word) ?? command;
  expect(command.parent).not.toBeNull();
  const options = command.createHelp().visibleOptions(command);
  const given = words.filter((word) => word.startsWith("--"));
  expect(given.filter((name) => !options.some(({ long }) => long === name))).toEqual([]);
});
