import { realpath, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { openScene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("what apichat init writes comes up with the commands that it prints, and goes", async () => {
  const { emulator, backend } = await openScene(["acme"]);
  const acme = emulator.workspace("acme");
  const folder = join(await realpath(backend.folder), "it's mine");
  const env = { ...backend.environment, XDG_STATE_HOME: backend.folder, CI: "" };
  const options = { env, extendEnv: false } as const;
  const cli = join(root, "dist/provider/cli/main.js");
  const parameters = [cli, "init", folder, `--base-url=${acme.baseUrl}`, "--json"];
  const { stdout } = await execa(process.execPath, parameters, options);
  const { next } = JSON.parse(stdout) as { next: string[] };
  // In place of what the registry would give.
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const commands = next
    .join("\n")
    .replace("npm install &&\n", "")
    .replace(/^pulumi up$/m, "pulumi up --yes --skip-preview");

  const up = await execa("sh", ["-ec", commands], { ...options, input: API_KEY, all: true, reject: false });
  expect(up).toMatchObject({ exitCode: 0 });
  expect(acme.registration).toMatchObject({ webhook_status: "verified" });
  expect(up.all).toContain(`bot_url: "${acme.botUrl}"`);
  expect(findSecrets(up.all, [API_KEY])).toEqual([]);

  const destroy = await execa("pulumi", ["destroy", "--yes", "--skip-preview"], {
    ...options,
    cwd: folder,
    all: true,
    reject: false,
  });
  expect(destroy).toMatchObject({ exitCode: 0 });
  expect(acme.registration).toBeUndefined();
});
