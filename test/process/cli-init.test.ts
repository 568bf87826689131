import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { startLive } from "./live-lines.ts";
import { run, startProgram } from "./program.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const FILES = ["package.json", "tsconfig.json", "Pulumi.yaml", "index.ts", ".gitignore"];
const REAL = [
  "--base-url=https://platform.example/acme/apichat",
  "--webhook-url=https://chat.example/webhooks/apichat",
];

interface Written {
  folder: string;
  files: string[];
  next: string[];
}

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "apichat-init-")));
  folders.push(folder);
});

async function init(...parameters: string[]): Promise<Written> {
  const { exitCode, stdout, stderr } = await run("init", ...parameters, "--json");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout) as Written;
}

describe("apichat init", () => {
  test.each([
    ["for the emulator", []],
    ["for a service elsewhere", REAL],
  ])("writes a program that compiles: %s", async (_, parameters) => {
    const project = join(folder, "My Webhooks");
    const written = await init(project, ...parameters);
    expect(written).toMatchObject({ folder: project, files: FILES });
    expect(await readdir(project)).toEqual(FILES.toSorted());
    expect(await readFile(join(project, "Pulumi.yaml"), "utf8")).toMatch(/^name: "my-webhooks"$/m);
    await symlink(join(repository, "node_modules"), join(project, "node_modules"));
    const { stdout } = await execa(join(repository, "node_modules/.bin/tsc"), ["-p", "."], {
      cwd: project,
      reject: false,
    });
    expect(stdout).toBe("");
  });

  test("names what the examples name, and the package from where it was run", async () => {
    await init(folder);
    const written = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as typeof packageJson;
    const example = JSON.parse(
      await readFile(join(repository, "examples/quickstart/package.json"), "utf8"),
    ) as typeof packageJson;
    expect(written).toMatchObject({ engines: example.engines, devDependencies: example.devDependencies });
    expect(written.dependencies).toEqual({
      ...example.dependencies,
      "pulumi-apichat": `file:${repository}`,
    });
  });

  test("writes nothing where one of its files is, and names them all", async () => {
    await writeFile(join(folder, "index.ts"), "mine");
    await writeFile(join(folder, ".gitignore"), "mine too");
    const { exitCode, stdout, stderr } = await run("init", folder);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("has index.ts, .gitignore already, so nothing was written");
    expect(await readdir(folder)).toEqual([".gitignore", "index.ts"]);
    expect(await readFile(join(folder, "index.ts"), "utf8")).toBe("mine");
  });

  test("leaves other files of a folder as they are", async () => {
    await mkdir(join(folder, ".git"));
    await writeFile(join(folder, "README.md"), "mine");
    await init(folder);
    expect(await readdir(folder)).toEqual([...FILES, ".git", "README.md"].toSorted());
  });

  test("leaves nothing of its own where it cannot write all", async () => {
    const { exitCode } = await startProgram(["init", folder], { fileLimitKib: 0 }).ended;
    expect(exitCode).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  test.each([
    [["--base-url=https://platform.example/acme/apichat"], "--webhook-url: is missing"],
    [[...REAL, "--webhook-url=https://chat.example/?token=secret"], "got https://chat.example/?token=***"],
    [["--base-url=http://127.0.0.1:4000/?token=secret"], "--base-url: must have no query"],
  ])("refuses %j, and writes nothing", async (parameters, reason) => {
    const { exitCode, stderr } = await run("init", folder, ...parameters);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(reason);
    expect(await readdir(folder)).toEqual([]);
  });

  test("knows the workspace and the key of the emulator", async () => {
    const { next } = await init(folder);
    const project = await readFile(join(folder, "Pulumi.yaml"), "utf8");
    const [, path = ""] = /value: "http:\/\/127\.0\.0\.1:4000(.*)"/.exec(project) ?? [];
    const [, apiKey = ""] = /apichat:apiKey (\S+)/.exec(next.join("\n")) ?? [];
    const emulator = startLive(["emulator", "--port=0", "--bot-port=0", "--quiet"]);
    const [origin] = await emulator.waitFor(/http:\/\/127\.0\.0\.1:\d+/);
    const answer = await fetch(`${origin}${path}?action=get-webhook`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ChaveApi: apiKey }),
    });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ status: "ok" })]);
  });
});
