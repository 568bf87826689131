import { existsSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { execa } from "execa";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { beforeAll, describe, expect, test } from "vitest";
import { commandsIn } from "../support/command.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import { packPackage, type PackedPackage } from "../support/packed-package.ts";
import { isRelative, targetsOf, root } from "../support/pages.ts";
const paths = Object.keys(packageJson.exports).map((key) => key.replace(".", packageJson.name));
const modules = paths.filter((path) => !path.endsWith(".json"));

/** The compiler options in the tsconfig.json that `pulumi new typescript` wrote for years. */
const OF_OLDER_TEMPLATES = ["--module", "commonjs", "--moduleResolution", "node", "--noImplicitReturns"];

const WITHOUT_SDK =
  "@pulumi/pulumi, which programs with pulumi-apichat need, is not installed; run: npm install @pulumi/pulumi@^3";

const FLEET = `import { runFleetCommand } from "pulumi-apichat/fleet";
const workspaces = [{ name: "acme", baseUrl: "http://127.0.0.1:1/acme/apichat" }];
const webhook = ({ baseUrl }) => ({ baseUrl, webhookUrl: "https://chat.example/", webhookVerificationKey: {} });
await runFleetCommand({ name: "chat", workspaces, webhook, stacks: 1 });`;

let packed: PackedPackage;
let project: string;

beforeAll(async () => {
  packed = await packPackage();
  project = await packed.install();
});

describe("each public import of the packed tarball", () => {
  test.each([
    ["import", "module"],
    ["require", "commonjs"],
  ] as const)("loaded with %s, exports the same names as the build", async (way, type) => {
    const expected: Record<string, string[]> = {};
    for (const path of modules) {
      expected[path] = Object.keys((await import(/* @vite-ignore */ path)) as object).toSorted();
      expect(expected[path]).not.toEqual([]);
    }
    const load = way === "import" ? "await import(path)" : "require(path)";
    const code = `
      const found = {};
      for (const path of ${JSON.stringify(modules)}) found[path] = Object.keys(${load}).toSorted();
      console.log(JSON.stringify(found));`;
    expect(await evaluate(code, type)).toEqual({ stdout: JSON.stringify(expected), stderr: "" });
  });

  test("can be resolved, including each JSON Schema, the OpenAPI description and package.json", async () => {
    // samples.json is not published: only the tests and the generator of openapi.json read it.
    const schemas = (await readdir(join(root, "schema"))).filter((name) => /(?<!samples)\.json$/.test(name));
    expect(schemas).toContain("openapi.json");
    expect(schemas.length).toBeGreaterThan(4);
    const files = ["package.json", ...schemas.map((name) => `schema/${name}`)];
    const reads = files.map((file) => `typeof require("${packageJson.name}/${file}")`);
    const { stdout } = await evaluate(`console.log([${reads.join()}].join())`, "commonjs");
    expect(stdout).toBe(files.map(() => "object").join());
  });

  test("compiles in a project from an older template, without skipLibCheck or esModuleInterop", async () => {
    // Omits the entry with the schemas: it refers to zod's declarations, which require esModuleInterop.
    const plain = modules.filter((path) => path !== "pulumi-apichat/schema");
    expect(await typeProblems("5.9", OF_OLDER_TEMPLATES, useAll(plain))).toBe("");
  });

  test("compiles with TypeScript 6 and module nodenext; the package's types are those that zod infers", async () => {
    const types = `
      import type * as schema from "pulumi-apichat/schema";
      type Of<Schema extends { parse: (value: unknown) => unknown }> = ReturnType<Schema["parse"]>;
      type IsSame<A, B> = [A, B] extends [B, A] ? true : false;
      export const same: [
        IsSame<Of<typeof schema.inboundMessage>, schema.InboundMessage>,
        IsSame<Of<typeof schema.outboundMessage>, schema.OutboundMessage>,
        IsSame<Of<typeof schema.handshakeParameters>, schema.HandshakeParameters>,
        IsSame<Of<typeof schema.registrationEnvelope>, schema.RegistrationEnvelope>,
        IsSame<Of<typeof schema.webhookConfiguration>, schema.WebhookConfiguration>,
        IsSame<Of<typeof schema.outboundMessage>, schema.OutboundMessage & { added: string }>,
      ] = [true, true, true, true, true, false];`;
    expect(await typeProblems("6", ["--module", "nodenext"], useAll(modules) + types)).toBe("");
  });
});

/** A program that imports and prints these modules. */
const useAll = (names: readonly string[]): string =>
  names.map((path, index) => `import * as m${index} from "${path}"; console.log(m${index});\n`).join("");

test("npx runs the tarball's emulator without a registry; it serves its page until Ctrl-C", async () => {
  // Nothing listens at this registry's address.
  const start = commandsIn(project, { ...process.env, npm_config_registry: "http://127.0.0.1:9" });
  const apichat = (...words: string[]) => start("npx", "--package", "pulumi-apichat", "apichat", ...words);
  expect((await apichat("--version").done).stdout).toBe(packageJson.version);
  const emulator = apichat("emulator", "--port=0", "--bot-port=0", "--json");
  const printedLine = (): string | undefined => /^\{.*\}$/m.exec(emulator.output())?.[0];
  await emulator.until(() => printedLine() !== undefined);
  const { page } = JSON.parse(printedLine() ?? "") as { page: string };
  const text = await (await fetch(page)).text();
  const names = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => String(name));
  expect(new Set(names)).toEqual(new Set(["app.css", "app.js", "favicon.svg"]));
  const parts = await Promise.all(names.map((name) => fetch(new URL(name, page))));
  expect(parts.map(({ status }) => status)).toEqual([200, 200, 200]);
  emulator.interrupt();
  await emulator.done;
  await expect(fetch(page)).rejects.toThrow("fetch failed");
});

test("the packed tarball contains a folder with the resource plugin, which starts without the package", async () => {
  const folder = join(project, "node_modules", packageJson.name);
  // Copied elsewhere, because the plugin must start without the package and the package's dependencies.
  const alone = join(packed.folder, "plugin");
  await cp(join(folder, "plugin"), alone, { recursive: true });
  expect((await readdir(alone)).toSorted()).toEqual([
    "licenses.txt",
    "main.js",
    "package.json",
    "pulumi-resource-",
    "pulumi-resource-apichat",
    "pulumi-resource-apichat.cmd",
    "sbom.cdx.json",
    "spool-worker.js",
  ]);
  const { stdout, stderr, exitCode } = await execa(join(alone, "pulumi-resource-apichat"), ["127.0.0.1:1"], {
    input: "",
    reject: false,
  });
  expect([stdout, stderr, exitCode]).toEqual([expect.stringMatching(/^\d+$/), "", 0]);
  expect(await readdir(join(folder, "dist/provider"))).not.toContain("plugin");
});

test("every page of the packed tarball links only to files in it", async () => {
  const folder = join(project, "node_modules", packageJson.name);
  const names = await readdir(folder, { recursive: true });
  const pages = names.filter((name) => name.endsWith(".md") && !name.startsWith("node_modules"));
  expect(pages.length).toBeGreaterThan(40);
  const dead = await Promise.all(
    pages.map(async (page) => {
      const targets = targetsOf({ text: await readFile(join(folder, page), "utf8") }).filter(isRelative);
      const files = targets.map((target) => normalize(join(dirname(page), target.replace(/#.*/, ""))));
      return files.filter((file) => !existsSync(join(folder, file))).map((file) => `${page}: ${file}`);
    }),
  );
  expect(dead.flat()).toEqual([]);
});

test.each(["import", "require"])(
  "%s of the main entry does not load zod, undici or the lifecycle",
  async (way) => {
    const files = await loadedFiles("pulumi-apichat", way);
    expect(files.filter((file) => file.endsWith("/dist/provider/index.js"))).toHaveLength(1);
    expect(files.filter((file) => /node_modules\/(zod|undici)\//.test(file))).toEqual([]);
    expect(
      files.filter((file) =>
        /dist\/(schema|provider\/(client|http|emulator|responder|dynamic|fleet))/.test(file),
      ),
    ).toEqual([]);
  },
);
describe("The packed tarball without Pulumi's SDK", () => {
  let alone: string;

  beforeAll(async () => {
    alone = await packed.installAlone();
  });

  const run = (...args: string[]) => execa(process.execPath, args, { cwd: alone, reject: false, input: "" });

  test("installs, and every entry except the main one can be imported", async () => {
    expect(await readdir(join(alone, "node_modules"))).not.toContain("@pulumi");
    const others = modules.filter((path) => path !== packageJson.name);
    const code = `
      const load = (path) => import(path).then((names) => Object.keys(names).length > 0);
      console.log(JSON.stringify(await Promise.all(${JSON.stringify(others)}.map(load))));`;
    const { stdout, stderr } = await run("--input-type=module", "-e", code);
    expect([stdout, stderr]).toEqual([JSON.stringify(others.map(() => true)), ""]);
  });

  test.each([
    ["import", 'import("pulumi-apichat")'],
    ["require", '(async () => require("pulumi-apichat"))()'],
  ])("on %s of the main entry, reports in one line what to install", async (_, load) => {
    const { stdout } = await run("-e", `${load}.catch(({ code, message }) => console.log(code, message))`);
    expect(stdout).toBe(`invalid_config ${WITHOUT_SDK}`);
  });

  test("reports what to install for a responder's metrics", async () => {
    const workspaces = { acme: { verificationKeys: VERIFICATION_KEY } };
    await writeFile(join(alone, "responder.json"), JSON.stringify({ port: 0, dataDir: "data", workspaces }));
    const program = "node_modules/pulumi-apichat/dist/provider/cli/main.js";
    const asked = await run(program, "responder", "--config", "responder.json", "--metrics-port", "0");
    const needed =
      "--metrics-port needs prom-client, which is not installed; run: npm install prom-client@^15";
    expect(asked.stderr.split("\n")).toContain(`error: ${needed}`);
    expect(asked.exitCode).toBe(2);
  });

  test("can still write the project of a fleet's stack", async () => {
    await writeFile(join(alone, "fleet.mjs"), FLEET);
    const { stderr, exitCode } = await run(
      "fleet.mjs",
      "write",
      "--stack",
      "chat-0-of-1",
      "--folder",
      "stack",
    );
    expect([stderr, exitCode]).toEqual([expect.stringContaining("wrote the project of chat-0-of-1"), 0]);
    const written = JSON.parse(await readFile(join(alone, "stack", "Pulumi.yaml"), "utf8")) as object;
    expect(written).toMatchObject({ packages: { apichat: "./../node_modules/pulumi-apichat/plugin" } });
  });
});

/** Compiles a strict program in the project, and returns the compiler's output. */
async function typeProblems(
  version: "5.9" | "6",
  options: readonly string[],
  program: string,
): Promise<string> {
  await writeFile(join(project, "types.ts"), program);
  const typescript = join(version === "6" ? root : project, "node_modules/typescript/bin/tsc");
  const args = [typescript, "--noEmit", "--strict", "--target", "es2020", ...options, "types.ts"];
  const { stdout } = await execa(process.execPath, args, { cwd: project, reject: false });
  return stdout;
}

/** Runs code in the project with this process's Node. */
async function evaluate(
  code: string,
  type: "module" | "commonjs",
): Promise<{ stdout: string; stderr: string }> {
  const { stdout, stderr } = await execa(process.execPath, [`--input-type=${type}`, "-e", code], {
    cwd: project,
    reject: false,
  });
  return { stdout, stderr };
}

/** Returns the files that Node loads if a program imports or requires this module. */
async function loadedFiles(path: string, way: string): Promise<string[]> {
  const code = `
    const files = [];
    const load = (url, context, next) => (files.push(url), next(url, context));
    require("node:module").registerHooks({ load });
    Promise.resolve(${way}("${path}")).then(() => console.log(JSON.stringify(files)));`;
  const { stdout, stderr } = await evaluate(code, "commonjs");
  expect(stderr).toBe("");
  return JSON.parse(stdout) as string[];
}
