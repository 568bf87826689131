import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Inside the repository, so that the blocks find the package and its dependencies as a user's program would. */
const folder = `${root}node_modules/.readme-blocks`;

let blocks: string[] = [];

beforeAll(async () => {
  const readme = await readFile(`${root}README.md`, "utf8");
  blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/package.json`, '{ "type": "module" }');
  await Promise.all(blocks.map((code, index) => writeFile(`${folder}/block-${index + 1}.ts`, code)));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("every TypeScript block of the README compiles against the built package", () => {
  expect(blocks.length).toBeGreaterThan(4);
  const program = ts.createProgram(
    blocks.map((_, index) => `${folder}/block-${index + 1}.ts`),
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
