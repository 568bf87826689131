import { cp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { makeFolder } from "../support/folder.ts";
import { blocksOf, readPage, root } from "../support/pages.ts";
import { openScene } from "../support/scene.ts";

const [unitTest = "", inlineProgram = ""] = blocksOf(readPage("docs/guide/programs.md"), "ts");

/** Adds these files to a program that `apichat init` wrote. Returns the folder. */
async function writeBlocks(blocks: Record<string, string>): Promise<string> {
  const folder = await makeFolder();
  await cp(join(root, "examples/quickstart"), folder, { recursive: true });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  for (const [name, code] of Object.entries(blocks)) await writeFile(join(folder, name), code);
  return folder;
}

test("the page's unit test compiles, passes without a network, and detects a wrong program", async () => {
  const start = unitTest.indexOf("const baseUrl =");
  const folder = await writeBlocks({
    "given.test.mts": unitTest,
    "loading.test.mts": `${unitTest.slice(0, start)}const { bot_url } = await import("./index.ts");
pulumi.output(bot_url).apply((url) => test("it loads", () => assert.equal(url, BOT_URL)));\n`,
    "wrong.test.mts": unitTest.replace(
      "webhookUrl: responder.urls.acme",
      'webhookUrl: "https://other.example"',
    ),
  });
  const { stdout } = await execa(process.execPath, ["--test"], { cwd: folder, reject: false });
  expect(stdout).toMatch(/^. pass 2$/m);
  expect(stdout).toMatch(/^. fail 1$/m);
  expect(stdout).toMatch(/^test at wrong\.test\.mts/m);

  const options = { all: true, reject: false, preferLocal: true } as const;
  expect((await execa("tsc", ["-p", folder], options)).all).toBe("");
});

test("the page's inline program deploys two stacks at once", async () => {
  const names = ["acme", "globex"];
  const scene = await openScene(names);
  const { exitCode, all: output } = await execa(
    process.execPath,
    [join(await writeBlocks({ "inline.mts": inlineProgram }), "inline.mts")],
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
