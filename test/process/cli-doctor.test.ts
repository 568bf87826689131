import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { startEmulator } from "pulumi-apichat/emulator";
import { freePort } from "../support/http.ts";
import { API_KEY, startEndpoint, VERIFICATION_KEY } from "../support/endpoint.ts";
import { findSecrets } from "../support/secrets.ts";
import { PROGRAM } from "./program.ts";

interface Finding {
  status: "ok" | "warning" | "failed" | "skipped";
  text: string;
  hint?: string;
}

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

let folder: string;
let bin: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "apichat-doctor-"));
  folders.push(folder);
  bin = join(folder, "bin");
  await mkdir(bin);
});

/** A `pulumi` on PATH that prints this. */
async function installPulumi(script: string): Promise<void> {
  await writeFile(join(bin, "pulumi"), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, "pulumi"), 0o755);
}

interface Files {
  [path: string]: string | object;
}

/** Makes files in the folder; an object is written as JSON. */
async function write(files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
  }
}

const installed = (name: string, version: string): Files => ({
  [`node_modules/${name}/package.json`]: { name, version },
});

async function doctor(parameters: readonly string[] = [], environment: Record<string, string> = {}) {
  const { stdout, stderr, exitCode } = await execa(process.execPath, [PROGRAM, "doctor", ...parameters], {
    cwd: folder,
    reject: false,
    extendEnv: false,
    stdin: "ignore",
    env: { PATH: bin, ...environment },
  });
  return { stdout, stderr, exitCode };
}

/** The findings by the name of their check. */
async function examine(parameters: readonly string[] = [], environment: Record<string, string> = {}) {
  const { stdout, stderr, exitCode } = await doctor([...parameters, "--json"], environment);
  expect(stderr).toBe("");
  const { passed, checks } = JSON.parse(stdout) as {
    passed: boolean;
    checks: (Finding & { name: string })[];
  };
  expect(exitCode).toBe(passed ? 0 : 1);
  const of = (name: string): Finding | undefined => checks.find((check) => check.name === name);
  return { passed, checks, of, stdout };
}

const PROGRAM_FILES: Files = {
  "Pulumi.yaml": "name: shop\nruntime:\n  name: nodejs\n",
  "package.json": '{\n\t"dependencies": {\n\t\t"pulumi-apichat": "*"\n\t}\n}\n',
  ...installed("pulumi-apichat", "0.1.0"),
  ...installed("@pulumi/pulumi", "3.270.0"),
};

describe("apichat doctor", () => {
  it("is content on a machine without Pulumi and without a program", async () => {
    const { passed, of } = await examine();
    expect(passed).toBe(true);
    expect(of("Node.js")).toEqual({ name: "Node.js", status: "ok", text: process.version });
    expect(of("Pulumi CLI")).toMatchObject({ status: "warning", text: "not on PATH" });
    expect(of("program")?.status).toBe("skipped");
    expect(of("base URL")?.status).toBe("skipped");
  });

  it("prints a line for each check and a hint below it, without colours", async () => {
    const { stdout, exitCode, stderr } = await doctor();
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^ok {7}Node\.js {9}v\d/m);
    expect(stdout).toMatch(/^warning {2}Pulumi CLI {6}not on PATH\n {25}hint: install Pulumi 3\.216\.0/m);
    expect(stdout).not.toContain("\u001b");
  });

  it("finds nothing wrong with a sound program", async () => {
    await write(PROGRAM_FILES);
    await installPulumi("echo v3.250.0");
    const { passed, of } = await examine();
    expect(passed).toBe(true);
    expect(of("Pulumi CLI")).toMatchObject({ status: "ok", text: "v3.250.0" });
    expect(of("program")).toMatchObject({ status: "ok", text: expect.stringMatching(/^shop /) });
    expect(of("pulumi-apichat")).toMatchObject({ status: "ok", text: "0.1.0" });
    expect(of("@pulumi/pulumi")).toMatchObject({ status: "ok", text: "3.270.0" });
    expect(of("typescript")?.status).toBe("ok");
  });

  it.each<[string, Files, string, RegExp]>([
    [
      "a runtime that is not Node.js",
      { "Pulumi.yaml": "name: shop\nruntime: go\n" },
      "program",
      /runtime go/,
    ],
    [
      "a package that is no direct dependency",
      { "package.json": { dependencies: { express: "5" } } },
      "pulumi-apichat",
      /direct/,
    ],
    [
      "a dependency that is not installed",
      { "node_modules/pulumi-apichat/package.json": "{}" },
      "pulumi-apichat",
      /not installed/,
    ],
    ["a library that is too old", installed("@pulumi/pulumi", "3.215.9"), "@pulumi/pulumi", /too old/],
    ["a project file that is none", { "Pulumi.yaml": "name: [\n" }, "program", /Pulumi\.yaml:\d/],
  ])("fails for %s", async (_, files, name, text) => {
    await installPulumi("echo v3.250.0");
    await write({ ...PROGRAM_FILES, ...files });
    const { passed, of } = await examine();
    expect(passed).toBe(false);
    expect(of(name)).toMatchObject({ status: "failed", text: expect.stringMatching(text) });
    expect(of(name)?.hint).not.toBe("");
  });

  it.each([
    ["echo v3.215.0", /too old/],
    ["exit 3", /fails \(3\)/],
    ["echo hello", /no version/],
  ])("fails for a pulumi that a program needs and that does: %s", async (script, text) => {
    await write(PROGRAM_FILES);
    await installPulumi(script);
    const { passed, of } = await examine();
    expect(passed).toBe(false);
    expect(of("Pulumi CLI")).toMatchObject({ status: "failed", text: expect.stringMatching(text) });
  });

  it("warns of TypeScript 6 with settings that it refuses", async () => {
    await installPulumi("echo v3.250.0");
    const settings = '{ "compilerOptions": { "moduleResolution": "node" } } // classic';
    await write({ ...PROGRAM_FILES, ...installed("typescript", "6.0.3"), "tsconfig.json": settings });
    expect((await examine()).of("typescript")).toMatchObject({
      status: "warning",
      text: expect.stringContaining("TS5107"),
    });
  });

  it.each<[string, string, string]>([
    ["nodenext", "failed", "TS6046"],
    ["commonjs", "ok", "not installed"],
  ])("judges a program without TypeScript by its tsconfig.json: module %s", async (module, status, text) => {
    await installPulumi("echo v3.250.0");
    await write({ ...PROGRAM_FILES, "tsconfig.json": { compilerOptions: { target: "es2020", module } } });
    const { passed, of } = await examine();
    expect(of("typescript")).toMatchObject({ status, text: expect.stringContaining(text) });
    expect(passed).toBe(status === "ok");
  });

  it("reads the settings of stacks, and warns of an API key in clear text without showing it", async () => {
    await installPulumi("echo v3.250.0");
    const dead = `http://127.0.0.1:${await freePort()}/acme?token=a-secret-in-a-query`;
    const safe = `config:\n  apichat:baseUrl: ${dead}\n  apichat:apiKey:\n    secure: v1:abc\n`;
    await write({ ...PROGRAM_FILES, "Pulumi.dev.yaml": safe });
    const first = await examine();
    expect(first.of("configuration")).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/^stack dev: http.*token=\*\*\*, an API key$/),
    });
    expect(first.of("base URL")).toMatchObject({
      status: "failed",
      text: expect.stringContaining("ECONNREFUSED"),
    });
    await write({
      "Pulumi.yaml": `name: shop\nruntime: nodejs\nconfig:\n  apichat:baseUrl:\n    value: ${dead}\n`,
      "Pulumi.dev.yaml": "config:\n  apichat:apiKey:\n    secure: v1:abc\n",
    });
    const ofAll = await examine();
    expect(ofAll.of("configuration")?.text).toMatch(
      /^Pulumi.yaml: http.*token=\*\*\*; stack dev: an API key$/,
    );
    expect(ofAll.of("base URL")?.text).toContain("ECONNREFUSED");
    await write({ "Pulumi.dev.yaml": `config:\n  apichat:apiKey: plain-api-key-of-a-stack\n` });
    const second = await examine();
    expect(second.of("configuration")).toMatchObject({
      status: "warning",
      hint: expect.stringContaining("--secret"),
    });
    expect(
      findSecrets(first.stdout + second.stdout, ["plain-api-key-of-a-stack", "a-secret-in-a-query"]),
    ).toEqual([]);
  });
});

describe("apichat doctor, on the network", () => {
  it("has the API key accepted, the handshake answered, and sends no message", async () => {
    const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: API_KEY }] });
    const endpoint = await startEndpoint();
    const { baseUrl, botUrl } = emulator.workspace("acme");
    const environment = { APICHAT_API_KEY: API_KEY, APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };
    const { passed, of, stdout } = await examine(
      ["--base-url", baseUrl, "--webhook-url", `${endpoint.url}/hook`, "--bot-url", botUrl],
      environment,
    );
    expect(passed).toBe(true);
    expect(of("base URL")).toMatchObject({
      status: "ok",
      text: `${baseUrl} accepts the API key; no webhook is registered`,
    });
    expect(of("webhook URL")?.text).toContain("answers the handshake");
    expect(of("bot URL")).toMatchObject({
      status: "ok",
      text: expect.stringContaining("no message was sent"),
    });
    expect(emulator.requests.map(({ method }) => method).toSorted()).toEqual(["GET", "POST"]);
    const wrong = await examine(["--base-url", baseUrl, "--webhook-url", `${endpoint.url}/hook`], {
      APICHAT_API_KEY: "a-wrong-api-key",
      APICHAT_VERIFICATION_KEY: "a-wrong-verification-key",
    });
    expect(wrong.passed).toBe(false);
    expect(wrong.of("base URL")).toMatchObject({
      status: "failed",
      hint: expect.stringContaining("API key"),
    });
    expect(wrong.of("webhook URL")?.status).toBe("failed");
    const secrets = [API_KEY, VERIFICATION_KEY, "a-wrong-api-key", "a-wrong-verification-key"];
    expect(findSecrets(stdout + wrong.stdout, secrets)).toEqual([]);
    await Promise.all([emulator.close(), endpoint.close()]);
  });

  it("warns of a bot URL where nothing is, and of URLs that are not the registered ones", async () => {
    const emulator = await startEmulator({
      workspaces: ["acme", "globex"].map((name) => ({ name, apiKey: API_KEY })),
    });
    const endpoint = await startEndpoint();
    const acme = emulator.workspace("acme");
    acme.takeOver({ webhook_url: `${endpoint.url}/hook`, webhook_verification_key: VERIFICATION_KEY });
    const environment = { APICHAT_API_KEY: API_KEY, APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };
    const look = (webhookUrl: string, botUrl: string) =>
      examine(["--base-url", acme.baseUrl, "--webhook-url", webhookUrl, "--bot-url", botUrl], environment);
    const same = await look(`${endpoint.url}/hook/`, acme.botUrl);
    expect([same.of("webhook URL")?.status, same.of("bot URL")?.status]).toEqual(["ok", "ok"]);
    const other = await look(`${endpoint.url}/other`, emulator.workspace("globex").botUrl);
    expect(other.passed).toBe(true);
    expect(other.of("webhook URL")).toMatchObject({
      status: "warning",
      text: expect.stringContaining(`registered is another one, ${endpoint.url}/hook`),
      hint: expect.stringContaining("apichat webhook set"),
    });
    expect(other.of("bot URL")).toMatchObject({
      status: "warning",
      text: expect.stringContaining(`registered is another one, ${acme.botUrl}`),
    });
    const { of } = await examine(["--bot-url", `${emulator.botUrl}/api/apichat/nobody`]);
    expect(of("bot URL")).toMatchObject({
      status: "warning",
      text: expect.stringContaining("HTTP 404 to GET"),
    });
    await Promise.all([emulator.close(), endpoint.close()]);
  });

  it("only knocks where it has no key", async () => {
    const endpoint = await startEndpoint();
    const { of } = await examine([
      "--webhook-url",
      `${endpoint.url}/hook`,
      "--base-url",
      `${endpoint.url}/base`,
    ]);
    expect(of("webhook URL")?.text).toContain("HTTP 405 to GET");
    expect(of("base URL")?.text).toContain("without the API key");
    expect(endpoint.requests.toSorted()).toEqual(["GET /base", "GET /hook"]);
    await endpoint.close();
  });

  it("names the proxies, without their passwords", async () => {
    const { of } = await examine([], {
      https_proxy: "http://user:password-of-a-proxy@proxy.example:3128",
      no_proxy: "localhost",
    });
    expect(of("proxies")?.text).toBe("https_proxy http://proxy.example:3128/; not for localhost");
  });
});

describe("apichat doctor, used wrongly", () => {
  it("ends with 2", async () => {
    const wrongUrl = await doctor(["--webhook-url", "nowhere"]);
    expect(wrongUrl).toMatchObject({ exitCode: 2, stdout: "" });
    const wrongKey = await doctor([], { APICHAT_API_KEY: " spaced " });
    expect(wrongKey).toMatchObject({ exitCode: 2, stdout: "" });
    expect(wrongKey.stderr).toContain("white space");
  });

  it("has examples and exit codes in its help", async () => {
    const { stdout, exitCode } = await doctor(["--help"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/Examples:\n.*\$ apichat doctor[^]*Exit code: 0 done/);
  });
});
