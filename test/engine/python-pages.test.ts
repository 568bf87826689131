import { mkdir, realpath, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { describe, expect, test } from "vitest";
import vectors from "../../schema/vectors.json" with { type: "json" };
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginLanguages } from "../support/languages.ts";
import { blocksOf, readPage } from "../support/pages.ts";
import { pluginFolder } from "../support/plugin.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { openScene } from "../support/scene.ts";
import { VERSION } from "../../dist/provider/lib/version.js";

const [handOver = "", derivation = ""] = blocksOf(readPage("docs/rotation.md"), "python");
const [unitTest = "", inlineProgram = ""] = blocksOf(readPage("docs/automation.md"), "python");

describe.each(pluginLanguages.filter(({ name }) => name === "python"))(
  "the pages' code in $name",
  ({ environment }) => {
    const python = async (folder: string, args: string[], env: Record<string, string> = {}) =>
      (await execa("python3", args, { cwd: folder, all: true, env: { ...environment, ...env } })).all;

    test("derives the keys of the test data", async () => {
      const { backend } = await openScene([]);
      for (const { seeds, subject, rotations, keys } of vectors.derivedKeys) {
        const cases = seeds.flatMap((seed) => rotations.map((rotation) => [seed, subject, rotation]));
        const derive =
          "import json, sys; print(json.dumps([derive_verification_key(*one) for one in json.loads(sys.argv[1])]))";
        const printed = await python(backend.folder, [
          "-c",
          `${derivation}\n${derive}`,
          JSON.stringify(cases),
        ]);
        expect(JSON.parse(printed)).toEqual(keys);
      }
    });

    test("passes the keys to an endpoint, which accepts them through a rotation", async () => {
      const { emulator, endpoint, backend } = await openScene(["acme"]);
      const folder = await realpath(backend.folder);
      const file = join(folder, "keys.json");
      const readKeys = (): string[] => JSON.parse(readFileSync(file, "utf8")) as string[];
      endpoint.answerWith((request, response) =>
        toNodeListener(createResponder({ verificationKeys: readKeys(), onDelivery: () => undefined }))(
          request,
          response,
        ),
      );
      const path = join(folder, "program");
      await mkdir(path);
      const runtime = "{ name: python, options: { toolchain: pip } }";
      const project = `name: shop\nruntime: ${runtime}\npackages: { apichat: ${pluginFolder} }\n`;
      await writeFile(join(path, "Pulumi.yaml"), project);
      const write = (rotation: string): Promise<void> =>
        writeFile(
          join(path, "__main__.py"),
          handOver
            .replace("/run/apichat/acme.json", file)
            .replace("https://chat.example/webhooks/apichat", endpoint.url)
            .replace("2026-11", rotation),
        );
      const program = openProgramFolder(backend, path, { APICHAT_API_KEY: API_KEY, ...environment });
      await program.run("stack", "init", "dev");
      await program.run("config", "set", "apichat:baseUrl", emulator.workspace("acme").baseUrl);
      for (const rotations of [1, 2]) {
        await write(`rotation-${rotations}`);
        await program.run("up", "--yes");
        expect(readKeys()).toHaveLength(rotations);
        expect(emulator.workspace("acme").registration?.webhook_verification_key).toBe(readKeys()[0]);
      }
    });

    test("passes as a unit test, and deploys a stack with the Automation API", async () => {
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
  },
);
