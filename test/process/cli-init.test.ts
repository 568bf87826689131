import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
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
  const said = await runCli(["init", ...parameters, "--json"]);
  expect(said).toMatchObject({ exitCode: 0, stderr: "" });
  return said.json as { folder: string; files: string[]; next: string[] };
}

describe("apichat init", () => {
  test("writes programs that compile, for the emulator and for a real service", async () => {
    const projects = [join(folder, "My Webhooks"), join(folder, "elsewhere")] as const;
    expect(await init(projects[0])).toMatchObject({ folder: projects[0], files: FILES });
    await init(projects[1], ...REAL);
    for (const project of projects) {
      expect(await readdir(project)).toEqual(FILES.toSorted());
      expect(await readFile(join(project, "index.ts"), "utf8")).toMatch(
        /^export const bot_url = .*\n^export const status = /m,
      );
    }
    expect(await readFile(join(projects[0], "Pulumi.yaml"), "utf8")).toMatch(/^name: "my-webhooks"$/m);
    // Both have the same compiler settings, so one run is enough.
    const files = projects.map((project) => join(project, "index.ts"));
    const tsconfig = { extends: join(projects[0], "tsconfig.json"), files };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
    await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
    const tsc = join(repository, "node_modules/.bin/tsc");
    expect((await execa(tsc, ["-p", "."], { cwd: folder, reject: false })).stdout).toBe("");
  });

  test("writes nothing if one of its files exists, and names them all", async () => {
    await writeFile(join(folder, "index.ts"), "mine");
    await writeFile(join(folder, ".gitignore"), "mine too");
    expect(await runCli(["init", folder, "--json"])).toMatchObject(
      usageError(
        /has index\.ts, \.gitignore already, so nothing was written.* npx --package pulumi-apichat apichat init/,
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

  test.each([
    ["", "pulumi-language-nodejs"],
    ["yaml", "pulumi-language-yaml"],
  ])(
    "in a clone, prints the line that puts pulumi and Node 24 on PATH: --language %o",
    async (language, host) => {
      const { next } = await init(folder, ...(language === "" ? [] : ["--language", language]));
      const terminals = [next[0], next[1]?.split("\n").slice(1).join("\n")];
      // Without the entries that the tests themselves add.
      const bare = (process.env.PATH ?? "")
        .split(delimiter)
        .filter((path) => !path.startsWith(repository) && !path.includes("pulumi-apichat"));
      for (const commands of terminals) {
        const [line = ""] = (commands ?? "").split(" &&\n");
        const found = ["pulumi", "apichat", host].map((command) => `command -v ${command}`);
        const script = [line, "node --version", ...found].join("\n");
        const { stdout } = await execa("sh", ["-ec", script], { env: { PATH: bare.join(delimiter) } });
        expect(stdout).toMatch(new RegExp(`^v24.*\\n/.*/pulumi\\n/.*/apichat\\n/.*/${host}$`));
      }
    },
  );
});
