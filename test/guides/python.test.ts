import { mkdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { describe, expect, test } from "vitest";
import vectors from "../../schema/vectors.json" with { type: "json" };
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pythonProgram } from "../support/languages.ts";
import { blocksOf, readPage, root } from "../support/pages.ts";
import { pluginFolder } from "../support/plugin.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { openScene } from "../support/scene.ts";
import { VERSION } from "../../dist/provider/lib/version.js";

const [excepthook = ""] = blocksOf(readPage("docs/guide/languages.md"), "python");
const [derivation = ""] = blocksOf(readPage("docs/guide/rotation.md"), "python");
const [customers = ""] = blocksOf(readPage("docs/guide/your-first-customers.md"), "python");
const [unitTest = "", inlineProgram = ""] = blocksOf(readPage("docs/guide/programs.md"), "python");

describe.runIf(pythonProgram)("the pages' code in Python", () => {
  const { environment } = pythonProgram ?? { environment: {} };
  const python = async (folder: string, args: string[], env: Record<string, string> = {}) =>
    (await execa("python3", args, { cwd: folder, all: true, env: { ...environment, ...env } })).all;

  test("derives the keys in the test data", async () => {
    const { backend } = await openScene([]);
    for (const { seeds, subject, rotations, keys } of vectors.derivedKeys) {
      const cases = seeds.flatMap((seed) => rotations.map((rotation) => [seed, subject, rotation]));
      const derive =
        "import json, sys; print(json.dumps([derive_verification_key(*one) for one in json.loads(sys.argv[1])]))";
      const printed = await python(backend.folder, ["-c", `${derivation}\n${derive}`, JSON.stringify(cases)]);
      expect(JSON.parse(printed)).toEqual(keys);
    }
  });

  test("passes three customers' keys to an endpoint, which accepts them before and after a rotation", async () => {
    const names = ["acme", "globex", "initech"];
    const { emulator, endpoint, backend } = await openScene(names);
    const path = join(await realpath(backend.folder), "program");
    const readKeys = (customer: string): string[] =>
      JSON.parse(readFileSync(join(path, "keys", `${customer}.json`), "utf8")) as string[];
    endpoint.answerWith((request, response) => {
      const [customer = ""] = /[a-z]+(?=\?|$)/.exec(request.url ?? "") ?? [];
      const verificationKeys = readKeys(customer);
      toNodeListener(createResponder({ verificationKeys, onDelivery: () => undefined }))(request, response);
    });
    await mkdir(path);
    const runtime = "{ name: python, options: { toolchain: pip } }";
    const project = `name: shop\nruntime: ${runtime}\npackages: { apichat: ${pluginFolder} }\n`;
    await writeFile(join(path, "Pulumi.yaml"), project);
    await writeFile(join(path, "__main__.py"), customers);
    const program = openProgramFolder(backend, path, { APICHAT_API_KEY: API_KEY, ...environment });
    await program.run("stack", "init", "dev");
    const [platform, origin] = [emulator.url, endpoint.url].map((url) => new URL(url).origin);
    for (const rotations of [1, 2]) {
      const settings = [`platform=${platform}`, `endpoint=${origin}`, `rotation=rotation-${rotations}`];
      await program.run("config", "set-all", ...settings.flatMap((setting) => ["--plaintext", setting]));
      await program.run("up", "--yes", "--skip-preview");
      const keys = names.map(readKeys);
      expect(keys.map(({ length }) => length)).toEqual(names.map(() => rotations));
      const registered = names.map((name) => emulator.workspace(name).registration);
      expect(registered.map((one) => one?.webhook_verification_key)).toEqual(
        keys.map(([current]) => current),
      );
    }
  });

  test("contains a unit test that passes, and deploys a stack with the Automation API", async () => {
    const { emulator, endpoint, backend } = await openScene(["acme"]);
    await writeFile(join(backend.folder, "test_program.py"), unitTest);
    expect(await python(backend.folder, ["-m", "unittest"])).toMatch(/Ran 1 test[^]*OK/);
    await writeFile(join(backend.folder, "inline.py"), inlineProgram);
    const acme = emulator.workspace("acme");
    const env = { ...backend.environment, ...environment };
    const install = ["plugin", "install", "resource", "apichat", VERSION, "--file", pluginFolder];
    await execa("pulumi", install, { env });
    const printed = await python(backend.folder, ["inline.py"], {
      ...env,
      API_KEY,
      VERIFICATION_KEY,
      ENDPOINT_URL: endpoint.url,
      PLATFORM_URL: acme.baseUrl,
    });
    expect(printed).toContain(acme.botUrl);
  });

  test("reports a failure without a traceback", async () => {
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
      ...environment,
    });
    await program.run("stack", "init", "dev");
    await program.run("config", "set", "--secret", "apichat:apiKey", API_KEY);
    const output = await program.fails("up", "--yes", "--skip-preview");
    expect(output).toMatch(/get-webhook at \S+: HTTP 418/);
    expect(output).not.toMatch(/KeyboardInterrupt|Traceback/);
  });
});
