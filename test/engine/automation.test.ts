import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import ts from "typescript";
import { expect, onTestFinished, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { blocksOf, readPage, root } from "../support/pages.ts";
import { openScene } from "../support/scene.ts";

const [unitTest = "", inlineProgram = ""] = blocksOf(readPage("docs/automation.md"), "ts");

/** Writes a block of the page where it finds the package as a user's program does. */
async function writeBlock(name: string, code: string): Promise<string> {
  const folder = join(root, "node_modules", ".automation-blocks", name);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const file = join(folder, `${name}.js`);
  // Node strips no types below node_modules.
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2024 },
  });
  await writeFile(file, outputText);
  return file;
}

/** Runs a unit test. Returns what its runner prints. */
async function runUnitTest(name: string, code: string): Promise<string> {
  const file = await writeBlock(name, code);
  return (await execa(process.execPath, ["--test", file], { reject: false })).stdout;
}

test("the unit test of the page passes, without a network, and fails where the program is wrong", async () => {
  expect(await runUnitTest("right", unitTest)).toMatch(/^. pass 1$/m);
  const wrong = await runUnitTest(
    "wrong",
    unitTest.replace("webhookUrl: responder.urls.acme", 'webhookUrl: "https://other.example"'),
  );
  expect(wrong).toMatch(/^. fail 1$/m);
});

test("the inline program of the page brings up two stacks at once", async () => {
  const names = ["acme", "globex"];
  const scene = await openScene(names);
  const { exitCode, all: output } = await execa(
    process.execPath,
    [await writeBlock("inline", inlineProgram)],
    {
      all: true,
      reject: false,
      env: {
        ...scene.backend.environment,
        TMPDIR: scene.backend.folder,
        PLATFORM_URL: scene.emulator.url,
        ENDPOINT_URL: scene.endpoint.url,
        VERIFICATION_KEY,
        APICHAT_API_KEY: API_KEY,
      },
    },
  );
  expect(output).toContain(scene.emulator.workspace("acme").botUrl);
  expect(exitCode).toBe(0);
  for (const name of names) {
    expect(scene.emulator.workspace(name).registration).toMatchObject({
      webhook_url: `${scene.endpoint.url}/${name}`,
      webhook_status: "verified",
    });
  }
});
