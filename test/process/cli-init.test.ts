import { readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { beforeEach, describe, expect, test } from "vitest";
import { runCli, usageError } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const FILES = ["package.json", "Pulumi.yaml", "tsconfig.json", "index.ts", ".gitignore"];
const REAL = [
  "--base-url=https://platform.example/acme/apichat",
  "--webhook-url=https://chat.example/webhooks/apichat",
];

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
});

async function init(...parameters: string[]) {
  // Without this variable, init would find the backend that this machine is logged in to.
  const environment = { PULUMI_HOME: folder };
  const said = await runCli(["init", ...parameters, "--json"], { environment });
  expect(said).toMatchObject({ exitCode: 0, stderr: "" });
  return said.json as { folder: string; files: string[]; next: string[] };
}

describe("apichat init", () => {
  test("writes one example's program for the emulator, and another example's for a real service", async () => {
    const projects = [join(folder, "My Webhooks"), join(folder, "elsewhere")] as const;
    expect(await init(projects[0])).toMatchObject({ folder: projects[0], files: FILES });
    expect((await init(projects[1], ...REAL)).next.join()).toContain("pulumi login");
    const examples = ["quickstart", "webhook-only"].map((name) => join(repository, "examples", name));
    for (const [index, project] of projects.entries()) {
      expect(await readdir(project)).toEqual(FILES.toSorted());
      const programs = [project, examples[index] ?? ""].map((path) =>
        readFile(join(path, "index.ts"), "utf8"),
      );
      const [written, example] = await Promise.all(programs);
      expect(written).toBe(example);
    }
    expect(await readFile(join(projects[0], "Pulumi.yaml"), "utf8")).toMatch(/^name: "my-webhooks"$/m);
  });

  test("keeps the state in the program's folder if the service is an emulator, whatever its port", async () => {
    for (const url of ["http://127.0.0.1:4000/acme/apichat", "http://127.0.0.1:4100/acme/apichat"]) {
      const { next } = await init(join(folder, new URL(url).port), `--base-url=${url}`);
      expect(next.at(-1)).toMatch(/^export PULUMI_BACKEND_URL=.*\n.*stack init/m);
      expect(next.at(-1)?.includes("acme-api-key")).toBe(url.includes("4000"));
    }
  });

  test("writes nothing if some of its files already exist, and names them all", async () => {
    await writeFile(join(folder, "index.ts"), "mine");
    await writeFile(join(folder, ".gitignore"), "mine too");
    expect(await runCli(["init", folder, "--json"])).toMatchObject(
      usageError(
        /already has index\.ts, \.gitignore, so nothing was written.* npx --package pulumi-apichat apichat init/,
      ),
    );
    expect(await readdir(folder)).toEqual([".gitignore", "index.ts"]);
    expect(await readFile(join(folder, "index.ts"), "utf8")).toBe("mine");
  });

  test.each([
    [["--base-url=https://platform.example/acme/apichat"], /^--webhook-url: is missing/],
    [
      [...REAL, "--webhook-url=https://chat.example/?token=secret"],
      /got https:\/\/chat.example\/\?token=\*\*\*/,
    ],
    [["--base-url=http://127.0.0.1:4000/?token=secret"], /^--base-url: must have no query/],
    [["--language=cobol"], /cobol.*yaml, python, /],
  ])("rejects %j, and writes nothing", async (parameters, reason) => {
    expect(await runCli(["init", folder, "--json", ...parameters])).toMatchObject(usageError(reason));
    expect(await readdir(folder)).toEqual([]);
  });

  test("in a clone, prints the line that puts pulumi, its YAML host and Node 24 on PATH", async () => {
    const { next } = await init(folder, "--language", "yaml");
    const [line, again] = [next[0], next[1]?.split("\n").slice(1).join("\n")].map(
      (commands = "") => commands.split(" &&\n")[0] ?? "",
    );
    expect(again).toBe(line);
    // PATH without the entries that the tests themselves add.
    const bare = (process.env.PATH ?? "")
      .split(delimiter)
      .filter((path) => !path.startsWith(repository) && !path.includes("pulumi-apichat"));
    const found = ["pulumi", "apichat", "pulumi-language-yaml"].map((command) => `command -v ${command}`);
    const script = [line, "node --version", ...found].join("\n");
    const { stdout } = await execa("sh", ["-ec", script], { env: { PATH: bare.join(delimiter) } });
    expect(stdout).toMatch(/^v24.*\n\/.*\/pulumi\n\/.*\/apichat\n\/.*\/pulumi-language-yaml$/);
  });
});
