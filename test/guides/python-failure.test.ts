import { readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { pythonProgram } from "../support/languages.ts";
import { blocksOf, readPage, root } from "../support/pages.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { openScene } from "../support/scene.ts";

const [excepthook = ""] = blocksOf(readPage("docs/guide/languages.md"), "python");

test.runIf(pythonProgram)("a failure in Python prints only the lines of the page", async () => {
  const { emulator, backend } = await openScene(["acme"]);
  emulator.injectFault({ operation: "get-webhook", fault: { status: 418 }, times: 9 });
  const folder = join(await realpath(backend.folder), "failing");
  const cli = join(root, "dist/provider/cli/main.js");
  const { baseUrl } = emulator.workspace("acme");
  await execa(process.execPath, [cli, "init", folder, "--language=python", `--base-url=${baseUrl}`]);
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const main = join(folder, "__main__.py");
  await writeFile(main, `${excepthook}\n${await readFile(main, "utf8")}`);
  const program = openProgramFolder(backend, folder, {
    XDG_STATE_HOME: backend.folder,
    CI: "",
    ...pythonProgram?.environment,
  });
  await program.run("stack", "init", "dev");
  await program.run("config", "set", "--secret", "apichat:apiKey", API_KEY);
  const output = await program.fails("up", "--yes", "--skip-preview");
  expect(output).toMatch(/get-webhook at \S+: HTTP 418/);
  expect(output).not.toMatch(/KeyboardInterrupt|Traceback/);
});
