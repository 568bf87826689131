import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { API_KEY, startEndpoint, VERIFICATION_KEY } from "../support/endpoint.ts";
import { freePort } from "../support/http.ts";
import { findSecrets } from "../support/secrets.ts";
import { QUERY_SECRET, runCli, startService, wrongUse } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
});

type Files = Record<string, string | object>;

/** Makes files in the folder; an object is written as JSON. */
async function write(files: Files): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  }
}

/** A `pulumi` on PATH that does this. */
async function installPulumi(script = "echo v3.250.0"): Promise<void> {
  await write({ "bin/pulumi": `#!/bin/sh\n${script}\n` });
  await chmod(join(folder, "bin/pulumi"), 0o755);
}

const installed = (name: string, version: string): Files => ({
  [`node_modules/${name}/package.json`]: { name, version },
});

const doctor = (parameters: readonly string[] = [], environment: Record<string, string> = {}) =>
  runCli(["doctor", ...parameters], {
    cwd: folder,
    environment: { PATH: join(folder, "bin"), ...environment },
  });

const KEYS = { APICHAT_API_KEY: API_KEY, APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };

/** Whether it passed, the findings by the name of their check, and what was printed. */
async function examine(parameters: readonly string[] = [], environment: Record<string, string> = {}) {
  const { exitCode, stdout, stderr, json } = await doctor([...parameters, "--json"], environment);
  const { passed, checks } = json as { passed: boolean; checks: { name: string }[] };
  expect({ exitCode, stderr }).toEqual({ exitCode: passed ? 0 : 1, stderr: "" });
  const findings = Object.fromEntries(checks.map(({ name, ...finding }) => [name, finding]));
  return { passed, findings, stdout };
}

const text = (pattern: RegExp): { text: unknown } => ({ text: expect.stringMatching(pattern) });

const PROGRAM_FILES: Files = {
  "Pulumi.yaml": "name: shop\nruntime:\n  name: nodejs\n",
  "package.json": '{\n\t"dependencies": {\n\t\t"pulumi-apichat": "*"\n\t}\n}\n',
  ...installed("pulumi-apichat", "0.1.0"),
  ...installed("@pulumi/pulumi", "3.270.0"),
};

const settings = (module: string) => ({ compilerOptions: { target: "es2020", module } });

describe("apichat doctor", () => {
  it("passes on a machine without Pulumi and without a program; a line for each check, hints below", async () => {
    const { passed, findings } = await examine();
    expect(passed).toBe(true);
    expect(findings).toMatchObject({
      "Node.js": { status: "ok", text: process.version },
      "Pulumi CLI": { status: "warning", text: "not on PATH" },
      program: { status: "skipped" },
      "base URL": { status: "skipped" },
    });
    const { stdout, exitCode } = await doctor();
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ok {7}Node\.js {9}v\d/m);
    expect(stdout).toMatch(/^warning {2}Pulumi CLI {6}not on PATH\n {25}hint: install Pulumi 3\.216\.0/m);
    expect(stdout).not.toContain("\u001b");
  });

  it("finds nothing wrong with a sound program", async () => {
    await write(PROGRAM_FILES);
    await installPulumi();
    const { passed, findings } = await examine();
    expect(passed).toBe(true);
    expect(findings).toMatchObject({
      "Pulumi CLI": { status: "ok", text: "v3.250.0" },
      program: { status: "ok", ...text(/^shop /) },
      "pulumi-apichat": { status: "ok", text: "0.1.0" },
      "@pulumi/pulumi": { status: "ok", text: "3.270.0" },
      typescript: { status: "ok", ...text(/not installed/) },
    });
  });

  it.each<[string, Files, string, "failed" | "warning", RegExp]>([
    [
      "a runtime that is not Node.js",
      { "Pulumi.yaml": "name: shop\nruntime: go\n" },
      "program",
      "failed",
      /runtime go/,
    ],
    ["a project file that is none", { "Pulumi.yaml": "name: [\n" }, "program", "failed", /Pulumi\.yaml:\d/],
    [
      "a package that is no direct dependency",
      { "package.json": { dependencies: { express: "5" } } },
      "pulumi-apichat",
      "failed",
      /direct/,
    ],
    [
      "a dependency that is not installed",
      { "node_modules/pulumi-apichat/package.json": "{}" },
      "pulumi-apichat",
      "failed",
      /not installed/,
    ],
    ["an old library", installed("@pulumi/pulumi", "3.215.9"), "@pulumi/pulumi", "failed", /too old/],
    [
      "settings that only a TypeScript of its own takes",
      { "tsconfig.json": settings("nodenext") },
      "typescript",
      "failed",
      /TS6046/,
    ],
    [
      "settings that TypeScript 6 refuses",
      {
        ...installed("typescript", "6.0.3"),
        "tsconfig.json": '{ "compilerOptions": { "moduleResolution": "node" } } // classic',
      },
      "typescript",
      "warning",
      /TS5107/,
    ],
  ])("finds %s", async (_, files, name, status, found) => {
    await installPulumi();
    await write({ "tsconfig.json": settings("commonjs"), ...PROGRAM_FILES, ...files });
    const { passed, findings } = await examine();
    expect(passed).toBe(status === "warning");
    expect(findings[name]).toMatchObject({ status, ...text(found), hint: expect.stringMatching(/./) });
  });

  it.each([
    ["echo v3.215.0", /too old/],
    ["exit 3", /fails \(3\)/],
    ["echo hello", /no version/],
  ])("fails for a pulumi that a program needs and that does: %s", async (script, found) => {
    await write(PROGRAM_FILES);
    await installPulumi(script);
    const { passed, findings } = await examine();
    expect(passed).toBe(false);
    expect(findings["Pulumi CLI"]).toMatchObject({ status: "failed", ...text(found) });
  });

  it("reads the settings of stacks, and warns of an API key in clear text without showing it", async () => {
    await installPulumi();
    const dead = `http://127.0.0.1:${await freePort()}/acme?token=${QUERY_SECRET}`;
    const encrypted = "  apichat:apiKey:\n    secure: v1:abc\n";
    const ofAll = `name: shop\nruntime: nodejs\nconfig:\n  apichat:baseUrl:\n    value: ${dead}\n`;
    for (const [files, found] of [
      [
        { "Pulumi.dev.yaml": `config:\n  apichat:baseUrl: ${dead}\n${encrypted}` },
        /^stack dev: http.*token=\*\*\*, an API key$/,
      ],
      [
        { "Pulumi.yaml": ofAll, "Pulumi.dev.yaml": `config:\n${encrypted}` },
        /^Pulumi.yaml: http.*token=\*\*\*; stack dev: an API key$/,
      ],
    ] as const) {
      await write({ ...PROGRAM_FILES, ...files });
      expect((await examine()).findings).toMatchObject({
        configuration: { status: "ok", ...text(found) },
        "base URL": { status: "failed", ...text(/ECONNREFUSED/) },
      });
    }
    await write({ "Pulumi.dev.yaml": "config:\n  apichat:apiKey: plain-api-key-of-a-stack\n" });
    const { findings, stdout } = await examine();
    expect(findings["configuration"]).toMatchObject({
      status: "warning",
      hint: expect.stringContaining("--secret"),
    });
    expect(findSecrets(stdout, ["plain-api-key-of-a-stack"])).toEqual([]);
  });
});

describe("apichat doctor, on the network", () => {
  it("has the API key accepted and the handshake answered, and sends no message; wrong keys fail", async () => {
    const emulator = await startService();
    const { url } = await startEndpoint();
    const { baseUrl, botUrl } = emulator.workspace("acme");
    const urls = ["--base-url", baseUrl, "--webhook-url", `${url}/hook`, "--bot-url", botUrl];
    const { passed, findings } = await examine(urls, KEYS);
    expect(passed).toBe(true);
    expect(findings).toMatchObject({
      "base URL": { status: "ok", text: `${baseUrl} accepts the API key; no webhook is registered` },
      "webhook URL": text(/answers the handshake/),
      "bot URL": { status: "ok", ...text(/no message was sent/) },
    });
    expect(emulator.requests.map(({ method }) => method).toSorted()).toEqual(["GET", "POST"]);
    const [APICHAT_API_KEY, APICHAT_VERIFICATION_KEY] = ["a-wrong-api-key", "a-wrong-verification-key"];
    const wrong = await examine(urls, { APICHAT_API_KEY, APICHAT_VERIFICATION_KEY });
    expect(wrong.passed).toBe(false);
    expect(wrong.findings).toMatchObject({
      "base URL": { status: "failed", hint: expect.stringContaining("API key") },
      "webhook URL": { status: "failed" },
    });
    expect(findSecrets(wrong.stdout, [APICHAT_API_KEY, APICHAT_VERIFICATION_KEY])).toEqual([]);
  });

  it("warns of URLs that are not the registered ones, and of a bot URL where nothing is", async () => {
    const emulator = await startService();
    const { url } = await startEndpoint();
    const acme = emulator.workspace("acme");
    acme.takeOver({ webhook_url: `${url}/hook`, webhook_verification_key: VERIFICATION_KEY });
    const inspect = (webhookUrl: string, botUrl: string) =>
      examine(["--base-url", acme.baseUrl, "--webhook-url", webhookUrl, "--bot-url", botUrl], KEYS);
    expect((await inspect(`${url}/hook/`, acme.botUrl)).findings).toMatchObject({
      "webhook URL": { status: "ok" },
      "bot URL": { status: "ok" },
    });
    const other = await inspect(`${url}/other`, emulator.workspace("globex").botUrl);
    expect(other.passed).toBe(true);
    expect(other.findings).toMatchObject({
      "webhook URL": {
        status: "warning",
        text: expect.stringContaining(`registered is another one, ${url}/hook`),
        hint: expect.stringContaining("apichat webhook set"),
      },
      "bot URL": {
        status: "warning",
        text: expect.stringContaining(`registered is another one, ${acme.botUrl}`),
      },
    });
    const { findings } = await examine(["--bot-url", `${emulator.botUrl}/api/apichat/nobody`]);
    expect(findings["bot URL"]).toMatchObject({ status: "warning", ...text(/HTTP 404 to GET/) });
  });

  it("only knocks where it has no key", async () => {
    const { url, requests } = await startEndpoint();
    const { findings } = await examine(["--webhook-url", `${url}/hook`, "--base-url", `${url}/base`]);
    expect(findings).toMatchObject({
      "webhook URL": text(/HTTP 405 to GET/),
      "base URL": text(/without the API key/),
    });
    expect(requests.toSorted()).toEqual(["GET /base", "GET /hook"]);
  });

  it("names the proxies, without their passwords", async () => {
    const proxy = "http://user:password-of-a-proxy@proxy.example:3128";
    const { findings } = await examine([], { https_proxy: proxy, no_proxy: "localhost" });
    expect(findings).toMatchObject({
      proxies: { text: "https_proxy http://proxy.example:3128/; not for localhost" },
    });
  });
});

it.each([
  [["--webhook-url", "nowhere"], {}, /absolute/],
  [[], { APICHAT_API_KEY: " spaced " }, /white space/],
])("apichat doctor %j with %j is wrong use", async (parameters, environment, message) => {
  expect(await doctor(["--json", ...parameters], environment)).toMatchObject(wrongUse(message));
});
