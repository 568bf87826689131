import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Credentials } from "../../../provider/cli/credentials.js";
import { runChecks } from "../../../provider/cli/doctor/run.js";
import { startEmulator } from "../../../provider/emulator/index.js";
import { afterTests, freePort } from "../../support/http.js";
import { findSecrets } from "../../support/secrets.js";
import { API_KEY, startEndpoint, VERIFICATION_KEY } from "../webhook/harness.js";

const QUERY_SECRET = "query-token-0123456789";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "apichat-doctor-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
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

interface Inputs {
  baseUrl?: string;
  botUrl?: string;
  webhookUrl?: string;
  environment?: Record<string, string>;
}

/** The findings by the name of their check; none of them holds the query's secret. */
async function examine({ webhookUrl, environment = {}, ...addresses }: Inputs = {}) {
  for (const [name, value] of Object.entries(environment))
    if (name.startsWith("APICHAT_")) vi.stubEnv(name, value);
  const checks = runChecks({
    folder,
    environment: { PATH: join(folder, "bin"), ...environment },
    credentials: new Credentials(addresses, () => undefined),
    webhookUrl,
    limitMs: 10_000,
    signal: new AbortController().signal,
  });
  const findings: Record<string, object> = {};
  for await (const { name, ...finding } of checks) findings[name] = finding;
  expect(findSecrets(JSON.stringify(findings), [QUERY_SECRET, API_KEY, VERIFICATION_KEY])).toEqual([]);
  return findings;
}

const text = (pattern: RegExp): { text: unknown } => ({ text: expect.stringMatching(pattern) });

const PROGRAM_FILES: Files = {
  "Pulumi.yaml": "name: shop\nruntime:\n  name: nodejs\n",
  "package.json": '{\n\t"dependencies": {\n\t\t"pulumi-apichat": "*"\n\t}\n}\n',
  ...installed("pulumi-apichat", "0.1.0"),
  ...installed("@pulumi/pulumi", "3.270.0"),
};

describe("apichat doctor, on a program", () => {
  it("finds nothing wrong with a sound one", async () => {
    await write(PROGRAM_FILES);
    await installPulumi();
    expect(await examine()).toMatchObject({
      "Pulumi CLI": { status: "ok", text: "v3.250.0" },
      program: { status: "ok", ...text(/^shop /) },
      "pulumi-apichat": { status: "ok", text: "0.1.0" },
      "@pulumi/pulumi": { status: "ok", text: "3.270.0" },
      typescript: { status: "ok" },
    });
  });

  it.each<[string, string, RegExp, Files]>([
    ["program", "failed", /runtime cobol/, { "Pulumi.yaml": "name: shop\nruntime: cobol\n" }],
    ["program", "failed", /Pulumi\.yaml:\d/, { "Pulumi.yaml": "name: [\n" }],
    ["pulumi-apichat", "failed", /not installed/, { "node_modules/pulumi-apichat/package.json": "{}" }],
    ["@pulumi/pulumi", "failed", /too old/, installed("@pulumi/pulumi", "3.215.9")],
  ])("finds what is wrong with %s: %s, %s", async (name, status, found, files) => {
    await installPulumi();
    await write({ ...PROGRAM_FILES, ...files });
    expect((await examine())[name]).toMatchObject({ status, ...text(found), hint: expect.any(String) });
  });

  it.each([
    ["echo v3.215.0", /too old/],
    ["exit 3", /fails \(3\)/],
    ["echo hello", /no version/],
  ])("fails for a pulumi that it needs and that does: %s", async (script, found) => {
    await write(PROGRAM_FILES);
    await installPulumi(script);
    expect((await examine())["Pulumi CLI"]).toMatchObject({ status: "failed", ...text(found) });
  });

  const DEAD = `http://127.0.0.1:1/acme?token=${QUERY_SECRET}`;
  const ENCRYPTED = "config:\n  apichat:apiKey:\n    secure: v1:abc\n";
  const OF_ALL = `name: shop\nruntime: nodejs\nconfig:\n  apichat:baseUrl:\n    value: ${DEAD}\n`;
  it.each<[RegExp, Files]>([
    [
      /^stack dev: http.*token=\*\*\*, an API key$/,
      { "Pulumi.dev.yaml": `${ENCRYPTED}  apichat:baseUrl: ${DEAD}\n` },
    ],
    [
      /^Pulumi.yaml: http.*token=\*\*\*; stack dev: an API key$/,
      { "Pulumi.yaml": OF_ALL, "Pulumi.dev.yaml": ENCRYPTED },
    ],
  ])("reads the settings of its stacks: %s", async (found, files) => {
    await write({ ...PROGRAM_FILES, ...files });
    expect(await examine()).toMatchObject({
      configuration: { status: "ok", ...text(found) },
      "base URL": { status: "failed" },
    });
  });

  it("warns of an API key in clear text without showing it", async () => {
    await write({ ...PROGRAM_FILES, "Pulumi.dev.yaml": `config:\n  apichat:apiKey: ${QUERY_SECRET}\n` });
    const hint = expect.stringContaining("--secret");
    expect((await examine())["configuration"]).toMatchObject({ status: "warning", hint });
  });
});

/** The service with a workspace, and an endpoint that answers the handshake with the verification key. */
async function startNetwork() {
  const workspaces = ["acme", "globex"].map((name) => ({ name, apiKey: API_KEY }));
  const emulator = await startEmulator({ workspaces });
  afterTests(() => emulator.close());
  const { url } = await startEndpoint();
  return { emulator, acme: emulator.workspace("acme"), url };
}
const KEYS = { APICHAT_API_KEY: API_KEY, APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };

describe("apichat doctor, on the network", () => {
  it("has the API key accepted and the handshake answered, and sends no message; wrong keys fail", async () => {
    const { emulator, acme, url } = await startNetwork();
    const { baseUrl, botUrl } = acme;
    const addresses = { baseUrl, botUrl, webhookUrl: url };
    expect(await examine({ ...addresses, environment: KEYS })).toMatchObject({
      "base URL": { status: "ok", text: `${baseUrl} accepts the API key; no webhook is registered` },
      "webhook URL": text(/answers the handshake/),
      "bot URL": { status: "ok", ...text(/no message was sent/) },
    });
    expect(emulator.requests.map(({ method }) => method).toSorted()).toEqual(["GET", "POST"]);
    const wrong = { APICHAT_API_KEY: "a-wrong-api-key", APICHAT_VERIFICATION_KEY: "a-wrong-key-0123456789" };
    const findings = await examine({ ...addresses, environment: wrong });
    expect(findings).toMatchObject({
      "base URL": { status: "failed", hint: expect.stringContaining("API key") },
      "webhook URL": { status: "failed" },
    });
    expect(findSecrets(JSON.stringify(findings), Object.values(wrong))).toEqual([]);
  });

  it("warns of URLs that are not the registered ones, and of a bot URL where nothing is", async () => {
    const { emulator, acme, url } = await startNetwork();
    const { baseUrl, botUrl } = acme;
    acme.takeOver({ webhook_url: url, webhook_verification_key: VERIFICATION_KEY });
    const registered = { baseUrl, botUrl, webhookUrl: `${url}/`, environment: KEYS };
    expect(await examine(registered)).toMatchObject({
      "webhook URL": text(/answers the handshake/),
      "bot URL": { status: "ok" },
    });
    const other = { webhookUrl: `${url}-other`, botUrl: emulator.workspace("globex").botUrl };
    expect(await examine({ ...registered, ...other })).toMatchObject({
      "webhook URL": {
        status: "warning",
        text: expect.stringContaining(`a different one is registered: ${url}`),
        hint: expect.stringContaining("apichat webhook set"),
      },
      "bot URL": {
        status: "warning",
        text: expect.stringContaining(`a different one is registered: ${botUrl}`),
      },
    });
    const nobody = await examine({ botUrl: `${emulator.botUrl}/api/apichat/nobody` });
    expect(nobody["bot URL"]).toMatchObject({ status: "warning", ...text(/HTTP 404 to GET/) });
  });

  it("only knocks where it has no key, and names what does not answer", async () => {
    const { url } = await startEndpoint();
    const baseUrl = `http://127.0.0.1:${await freePort()}/?token=${QUERY_SECRET}`;
    expect(await examine({ webhookUrl: url, baseUrl })).toMatchObject({
      "webhook URL": text(/HTTP \d+ to GET.*not checked further: no verification key/),
      "base URL": { status: "failed", ...text(/token=\*\*\*: no answer: ECONNREFUSED/) },
    });
  });

  it("names the proxies, without their passwords", async () => {
    const https_proxy = `http://user:${QUERY_SECRET}@proxy.example:3128`;
    expect(await examine({ environment: { https_proxy, no_proxy: "localhost" } })).toMatchObject({
      proxies: { text: "https_proxy http://proxy.example:3128/; not for localhost" },
    });
  });
});
