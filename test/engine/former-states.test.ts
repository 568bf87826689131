import { readdirSync } from "node:fs";
import { copyFile, cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmulator } from "pulumi-apichat/emulator";
import { expect, test } from "vitest";
import { afterTests } from "../support/http.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { createBackend } from "../support/stack.ts";
import { root } from "../support/pages.ts";
const fixtures = join(root, "test/fixtures");
const states = readdirSync(fixtures, { recursive: true, encoding: "utf8" })
  .filter((path) => /^[^/]+[/](?:dynamic|plugin)\.json$/.test(path))
  .map((path) => path.replace(".json", "").split("/") as [release: string, stack: string]);

test.concurrent.each(states)(
  "a state of %s on the provider %s shows no changes, and its destroy removes the webhook",
  async (release, stack) => {
    const backend = await createBackend();
    const [data, folder] = [join(backend.folder, "emulator.sqlite"), join(backend.folder, stack)];
    await copyFile(join(fixtures, release, "emulator.sqlite"), data);
    const emulator = await startEmulator({ data });
    afterTests(() => emulator.close());
    await cp(join(fixtures, "programs", stack), folder, { recursive: true });
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    // The emulator is at other ports now.
    const write = async (from: string, name: string): Promise<void> => {
      const text = (await readFile(from, "utf8")).replaceAll("http://127.0.0.1:14000", emulator.url);
      await writeFile(join(folder, name), text.replaceAll("http://127.0.0.1:14001", emulator.botUrl));
    };
    await write(join(fixtures, release, `${stack}.json`), "state.json");
    const program = stack === "dynamic" ? "index.js" : "Pulumi.yaml";
    await write(join(folder, program), program);

    const project = openProgramFolder(backend, folder);
    await project.run("stack", "init", stack);
    await project.run("stack", "import", "--file", "state.json");
    await project.run("preview", "--refresh", "--expect-no-changes");
    expect(emulator.requests.at(-1)).toMatchObject({ operation: "get-webhook", status: 200 });
    await project.run("destroy", "--yes", "--skip-preview");
    const { workspace } = emulator.requests.at(-1) ?? {};
    expect(emulator.workspace(workspace ?? "").registration).toBeUndefined();
  },
);
