import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { execa } from "execa";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { beforeAll, describe, expect, test, vi } from "vitest";
import { findExecutable, pathFolders } from "../../tools/engine/engine.ts";
import { API_KEY } from "../support/endpoint.ts";
import { afterTests } from "../support/http.ts";
import {
  installedLanguages,
  linkPulumi,
  openInstalled,
  packWheel,
  page,
  python,
  RELEASES,
} from "../support/installed.ts";
import { blocksOf, chapterOf } from "../support/pages.ts";
import { servePlugin, type PluginServer } from "../support/plugin-server.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { respondersOn } from "../support/responder.ts";
import { expectCleanBackend, openScene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend } from "../support/stack.ts";
import { openTerminal, requireFree, withoutQuestions } from "../support/terminal.ts";

const { version } = packageJson;
const QUIET = ["--yes", "--skip-preview"];

/** A Python program that prints those fields of the wheel that PyPI shows. */
const METADATA = `
import importlib.metadata
shown = importlib.metadata.metadata("pulumi-apichat")
minimum = shown["Requires-Python"].removeprefix(">=")
assert "Typing :: Typed" in shown.get_all("Classifier")
assert "import pulumi_apichat" in shown.get_payload()
print(shown["Name"].replace("_", "-"), minimum, shown["License-Expression"], shown["License-File"], shown["Author"])
`;

/** The tools that the page's commands use, apart from Pulumi and Python. */
const SHELL_TOOLS = ["sh", "mkdir", "uname"];

// Only on Linux does the engine read an additional certificate authority from a file.
describe.runIf(process.platform === "linux")("the plugin that the engine downloads", () => {
  let server: PluginServer;

  beforeAll(async () => {
    const backend = await createBackend();
    server = await servePlugin(backend.folder);
  });

  test.each(installedLanguages)(
    "runs a program in $name, with packages installed as users install them, without Node",
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
      const installed = `home/plugins/resource-apichat-v${version}/node`;
      expect(await readlink(`/proc/${responder}/exe`)).toBe(join(backend.folder, installed));

      await program.run("destroy", ...QUIET);
      expect(acme.registration).toBeUndefined();
      expect(await respondersOn(backend.folder)).toEqual([]);
      expect(server.downloads).toHaveLength(length + 1);
      expect(findSecrets(program.printed(), secrets)).toEqual([]);
      await expectCleanBackend(backend, secrets);
    },
  );

  test.runIf(python && process.env["TEST_SUITE"] === "languages")(
    "runs First steps in Python word for word, on a machine without Node",
    async () => {
      const blocks = blocksOf(chapterOf(page, "First steps in Python"), "sh");
      const [install = "", emulator = "", init = "", up = "", send = "", show = "", end = ""] = blocks;
      await Promise.all([4000, 4001].map(requireFree));
      const backend = await createBackend();
      const folder = await realpath(backend.folder);
      const bin = await linkPulumi(backend);
      for (const tool of SHELL_TOOLS)
        await symlink(findExecutable(tool, pathFolders()) ?? "", join(bin, tool));
      // Links the interpreter's own file: `python3` on PATH may be a script that searches for a Python.
      const { stdout } = await execa(python?.command ?? "", ["-c", "import sys; print(sys.executable)"]);
      await symlink(stdout, join(bin, "python3"));
      const wheels = await mkdtemp(join(folder, "wheels-"));
      await packWheel(server, wheels);
      const {
        PULUMI_BACKEND_URL: _url,
        PULUMI_CONFIG_PASSPHRASE: _passphrase,
        ...clean
      } = backend.environment;
      const own = { PATH: bin, PIP_FIND_LINKS: wheels, XDG_STATE_HOME: folder, CI: "" };
      const environment = { ...clean, ...server.environment, ...own };
      const first = openTerminal(folder, environment);
      expect(await first.run("! command -v node npm")).toBe("");
      expect(await first.run(install.replace(RELEASES, server.url))).toMatch(new RegExp(`^${version}$`, "m"));
      const second = openTerminal(join(folder, "my-webhooks"), environment);
      second.paste(emulator);
      await second.waitFor(/Press Ctrl-C to stop/);
      await first.run(init);
      expect(await first.run(withoutQuestions(up))).toMatch(/status +: "verified"/);
      await first.run(send);
      await second.waitFor(/delivery +delivered/);
      const shown = await first.run(show);
      expect(shown).toContain("the same as yours");
      const [, url = ""] = /^ *url +(\S+)$/m.exec(shown) ?? [];
      expect(await first.run(`apichat verify ${url}`)).toMatch(/passed/);
      await first.run(withoutQuestions(end));
      expect(await first.run("apichat webhook get")).toMatch(/nothing/i);
    },
  );

  test("can be downloaded from a mirror with a checksum; the page explains each download error", async () => {
    const backend = await createBackend();
    const [, override = ""] = /PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES='(.*)'/.exec(page.text) ?? [];
    const mirrored = override.replace("https://downloads.example/apichat", server.url);
    expect(mirrored).not.toBe(override);
    const program = openProgramFolder(backend, backend.folder, {
      ...server.environment,
      PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES: mirrored,
    });
    const install = ["plugin", "install", "resource", "apichat", version, "--server"];
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
      { name: "apichat", version: version },
    ]);
  });

  test.runIf(python)(
    "contains the command line, which the wheel's apichat runs without Node or npm",
    async () => {
      const backend = await createBackend();
      const { folder, environment } = backend;
      const [aside, venv] = ["aside", "venv"].map((name) => join(folder, name)) as [string, string];
      await mkdir(aside);
      const wheel = await packWheel(server, aside);
      await execa(python?.command ?? "", ["-m", "venv", venv]);
      await execa(join(venv, "bin/pip"), ["install", "--no-index", "--no-deps", wheel]);
      const env = { PULUMI_HOME: environment["PULUMI_HOME"], PATH: "", HOME: folder };
      const start = (command: string, ...words: string[]) =>
        execa(command, words, { env, extendEnv: false, cwd: folder, reject: false, all: true });
      const apichat = join(venv, "bin/apichat");
      const install = ["plugin", "install", "resource", "apichat", version, "--server", server.url];

      expect((await start(join(venv, "bin/python"), "-c", METADATA)).stdout).toBe(
        "pulumi-apichat 3.10 MIT LICENSE the pulumi-apichat authors",
      );

      const missing = await start(apichat, "--version");
      expect(missing).toMatchObject({ exitCode: 1, stdout: "" });
      expect(missing.stderr).toContain(`Install it with: pulumi ${install.join(" ")}`);
      await openProgramFolder(backend, folder, server.environment).run(...install);
      expect(await start(apichat, "--version")).toMatchObject({ exitCode: 0, stdout: version, stderr: "" });

      const { all } = await start(apichat, "init", "program");
      expect(all).toMatch(/^apichat emulator$/m);
      expect(all).not.toMatch(/npm|npx/);
      expect(await readFile(join(folder, "program/Pulumi.yaml"), "utf8")).not.toContain("packages:");
      expect(await readFile(join(folder, "program/requirements.txt"), "utf8")).toBe(
        `pulumi-apichat @ file://${wheel}\n`,
      );
      const away = ["--base-url", "http://127.0.0.1:9/acme/apichat", "--request-seconds", "1"];
      const failed = await start(apichat, "webhook", "get", ...away, "--api-key-file", "/dev/null");
      expect(failed.all).not.toContain("npx");

      const emulator = start(apichat, "emulator", "--port", "0", "--bot-port", "0");
      afterTests(() => emulator.kill());
      let printed = "";
      emulator.stdout.on("data", (chunk) => (printed += String(chunk)));
      await vi.waitUntil(() => printed.includes("Ctrl-C"), { timeout: 60_000 });
      expect(printed).toContain("write a program with apichat init");
      const [, origin = ""] = /(http:\/\/127\.0\.0\.1:\d+)\/_emulator\//.exec(printed) ?? [];
      const code = await (await fetch(`${origin}/_emulator/app.js`)).text();
      expect(code).toContain("Choose a conversation");

      // Users without the wheel can link the plugin's own apichat command.
      const own = join(folder, "home/plugins", `resource-apichat-v${version}`, "apichat");
      await symlink(own, join(folder, "link"));
      expect((await execa(join(folder, "link"), ["--version"])).stdout).toBe(version);
      expect(await readdir(join(dirname(own), "schema"))).toEqual(
        expect.arrayContaining(["inbound.schema.json", "openapi.json", "vectors.json"]),
      );
      expect((await start(`${dirname(own)}/pulumi-resource-apichat`, "--help")).all).toContain(
        "apichat --help",
      );
    },
  );
});
