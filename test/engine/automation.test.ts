import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { makeFolder } from "../support/folder.ts";
import { blocksOf, readPage, root } from "../support/pages.ts";
import { openScene } from "../support/scene.ts";

const [unitTest = "", inlineProgram = ""] = blocksOf(readPage("docs/guide/programs.md"), "ts");

/** Writes a code block of the page beside the program that `apichat init` writes. */
async function writeBlock(name: string, code: string): Promise<string> {
  const folder = await makeFolder();
  await cp(join(root, "examples/quickstart"), folder, { recursive: true });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const file = join(folder, name);
  await writeFile(file, code);
  return file;
}

/** Runs a unit test, and returns the output of its runner. */
async function runUnitTest(code: string): Promise<string> {
  const file = await writeBlock("program.test.mts", code);
  return (await execa(process.execPath, ["--test", file], { reject: false })).stdout;
}

test("the unit test of the page passes without a network, and fails if the program is wrong", async () => {
  expect(await runUnitTest(unitTest)).toMatch(/^. pass 1$/m);
  const wrong = await runUnitTest(
    unitTest.replace("webhookUrl: responder.urls.acme", 'webhookUrl: "https://other.example"'),
  );
  expect(wrong).toMatch(/^. fail 1$/m);
});

test("the unit test type-checks in the program of apichat init, and loads it", async () => {
  const start = unitTest.indexOf("const baseUrl =");
  const loading = `${unitTest.slice(0, start)}const { bot_url } = await import("./index.ts");
pulumi.output(bot_url).apply((url) => test("it loads", () => assert.equal(url, BOT_URL)));\n`;
  expect(await runUnitTest(loading)).toMatch(/^. pass 1$/m);
  for (const code of [unitTest, loading]) {
    const folder = dirname(await writeBlock("program.test.mts", code));
    const settings = join(folder, "tsconfig.json");
    const text = (await readFile(settings, "utf8"))
      .replace('"noEmit": true', '"noEmit": true, "allowImportingTsExtensions": true')
      .replace('["*.ts"]', '["*.ts", "*.mts"]');
    await writeFile(settings, text);
    const { all: problems } = await execa("tsc", ["-p", folder], {
      all: true,
      reject: false,
      preferLocal: true,
    });
    expect(problems).toBe("");
  }
});

test("the inline program of the page deploys two stacks at once", async () => {
  const names = ["acme", "globex"];
  const scene = await openScene(names);
  const { exitCode, all: output } = await execa(
    process.execPath,
    [await writeBlock("inline.mts", inlineProgram)],
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
