import { realpath, symlink } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { pluginLanguages } from "../support/languages.ts";
import { root } from "../support/pages.ts";
import { expectCleanBackend, openScene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

/** Not with the program for the dynamic provider, which `first-steps.test.ts` runs. */
test.each(pluginLanguages)(
  "the program of apichat init --language $name deploys with the commands that init prints",
  async (program) => {
    const { emulator, backend } = await openScene(["acme"]);
    const acme = emulator.workspace("acme");
    const folder = join(await realpath(backend.folder), "it's mine");
    const env = { ...backend.environment, XDG_STATE_HOME: backend.folder, CI: "", ...program.environment };
    const options = { env, extendEnv: false } as const;
    const cli = join(root, "dist/provider/cli/main.js");
    const language = `--language=${program.name}`;
    const parameters = [cli, "init", folder, `--base-url=${acme.baseUrl}`, "--json", language];
    const { stdout } = await execa(process.execPath, parameters, options);
    const { next } = JSON.parse(stdout) as { next: string[] };
    // Takes the place of the package that npm would install.
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    await program.install(folder, env);
    const commands = next
      .join("\n")
      .replaceAll(/^(npm|pulumi) install &&\n/gm, "")
      .replace(/^pulumi up$/m, "pulumi up --yes --skip-preview");

    const up = await execa("sh", ["-ec", commands], { ...options, input: API_KEY, all: true, reject: false });
    expect(up).toMatchObject({ exitCode: 0 });
    expect(acme.registration).toMatchObject({ webhook_status: "verified" });
    expect(up.all.replaceAll(/ +:/g, ":")).toContain(`bot_url: "${acme.botUrl}"`);
    const secrets = [API_KEY, acme.registration?.webhook_verification_key ?? ""];
    expect(findSecrets(up.all, secrets)).toEqual([]);
    await expectCleanBackend(backend, secrets);
  },
);
