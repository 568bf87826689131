import { readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { beforeAll, describe, expect, test } from "vitest";
import { findExecutable } from "../../tools/engine/engine.ts";
import { API_KEY } from "../support/endpoint.ts";
import { installedLanguages, openInstalled, page, RELEASES } from "../support/installed.ts";
import { servePlugin, type PluginServer } from "../support/plugin-server.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { respondersOn } from "../support/responder.ts";
import { expectCleanBackend, openScene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend } from "../support/stack.ts";

const QUIET = ["--yes", "--skip-preview"];

// The engine takes another authority from a file on Linux only.
describe.runIf(process.platform === "linux")("the plugin that the engine downloads", () => {
  let server: PluginServer;

  beforeAll(async () => {
    const backend = await createBackend();
    server = await servePlugin(backend.folder);
  });

  test.each(installedLanguages)(
    "runs a program in $name, installed as its users do, on a machine without Node",
    async (language) => {
      const { emulator, backend } = await openScene(["acme"]);
      const acme = emulator.workspace("acme");
      const program = await openInstalled(backend, language, server);
      for (const command of ["node", "npm"])
        expect(findExecutable(command, program.searched)).toBeUndefined();
      await program.run("stack", "init", "dev");
      await program.run("config", "set", "apichat:baseUrl", acme.baseUrl);
      await program.run("config", "set", "--secret", "apichat:apiKey", API_KEY);
      const { length } = server.downloads;
      await program.run("up", ...QUIET);
      expect(server.downloads.slice(length)).toEqual([server.path]);
      expect(acme.registration).toMatchObject({ webhook_status: "verified" });
      const secrets = [API_KEY, acme.registration?.webhook_verification_key ?? ""];
      const [responder] = await respondersOn(backend.folder);
      const installed = `home/plugins/resource-apichat-v${packageJson.version}/node`;
      expect(await readlink(`/proc/${responder}/exe`)).toBe(join(backend.folder, installed));

      await program.run("destroy", ...QUIET);
      expect(acme.registration).toBeUndefined();
      expect(await respondersOn(backend.folder)).toEqual([]);
      expect(server.downloads).toHaveLength(length + 1);
      expect(findSecrets(program.printed(), secrets)).toEqual([]);
      await expectCleanBackend(backend, secrets);
    },
  );

  test("comes from a mirror, has its checksum, and what is wrong with an archive is on the page", async () => {
    const backend = await createBackend();
    const [, override = ""] = /PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES='(.*)'/.exec(page.text) ?? [];
    const mirrored = override.replace("https://downloads.example/apichat", server.url);
    expect(mirrored).not.toBe(override);
    const program = openProgramFolder(backend, backend.folder, {
      ...server.environment,
      PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES: mirrored,
    });
    const install = ["plugin", "install", "resource", "apichat", packageJson.version, "--server"];
    const fails = async (url: string, error: string, ...more: string[]): Promise<string> => {
      const output = await program.fails(...install, url, ...more);
      expect(output).toContain(error);
      expect(page.text).toContain(`\`${error}`);
      return output;
    };
    const missing = await fails(`${server.url}/missing`, "404 HTTP error fetching plugin from");
    expect(missing).toContain(basename(server.path));
    await fails(`${server.url}/damaged`, "unexpected EOF");
    await fails(`${server.url}/unsized`, "expected -1 bytes but copied");
    const wrong = await fails(RELEASES, "invalid checksum, expected", "--checksum", "00".repeat(32));
    expect(wrong).toContain(`actual ${server.sha256}`);
    expect(await program.run("plugin", "ls", "--json")).toBe("[]");

    await program.run(...install, RELEASES, "--checksum", server.sha256);
    expect(JSON.parse(await program.run("plugin", "ls", "--json"))).toMatchObject([
      { name: "apichat", version: packageJson.version },
    ]);
  });
});
