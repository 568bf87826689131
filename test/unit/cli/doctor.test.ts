import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Credentials } from "../../../provider/cli/credentials.js";
import { runChecks } from "../../../provider/cli/doctor/run.js";
import { startEmulator } from "../../../provider/emulator/index.js";
import { afterTests, freePort } from "../../support/http.js";
import { findSecrets } from "../../support/secrets.js";
import { API_KEY, startEndpoint, VERIFICATION_KEY } from "../webhook/harness.js";
import { makeFolder } from "../../support/folder.ts";

const QUERY_SECRET = "query-token-0123456789";

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => void vi.unstubAllEnvs());

type Files = Record<string, string | object>;

/** Creates files in the folder; an object is written as JSON. */
async function write(files: Files): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    const text = typeof content === "string" ? content : JSON.stringify(content);
    await writeFile(path, text, { mode: name.startsWith("bin/") ? 0o755 : 0o644 });
  }
}

/** Puts a `pulumi` with this script on PATH. */
const pulumi = (script: string): Files => ({ "bin/pulumi": `#!/bin/sh\n${script}\n` });

interface Inputs {
  baseUrl?: string;
  webhookUrl?: string;
  environment?: Record<string, string>;
  /** The folder in which the command runs. */
  from?: string;
}

/** Returns the findings by the name of their check; none contains the query's secret. */
async function examine({ webhookUrl, environment = {}, from = ".", ...addresses }: Inputs = {}) {
  for (const [name, value] of Object.entries({ PATH: join(folder, "bin"), ...environment }))
    vi.stubEnv(name, value);
  const checks = await runChecks({
    folder: join(folder, from),
    credentials: new Credentials(addresses),
    webhookUrl,
    signal: new AbortController().signal,
  });
  const findings: Record<string, { status: string; text: string; hint?: string }> = {};
  for (const { name, ...finding } of checks) findings[name] = finding;
  expect(findSecrets(JSON.stringify(findings), [QUERY_SECRET, API_KEY, VERIFICATION_KEY])).toEqual([]);
  return findings;
}

const text = (pattern: RegExp): { text: unknown } => ({ text: expect.stringMatching(pattern) });

const PROGRAM_FILES: Files = {
  ...pulumi("echo v3.250.0"),
  "Pulumi.yaml": "name: shop\nruntime:\n  name: nodejs\n",
};
const ON_PLUGIN: Files = {
  ...pulumi("echo v3.250.0"),
  "Pulumi.yaml": "name: shop\nruntime: go\npackages: { apichat: ./node_modules/pulumi-apichat/plugin }\n",
};

describe("apichat doctor in a folder", () => {
  it.each<[string, Files, fails?: Record<string, RegExp>, from?: string]>([
    ["a Node.js program", PROGRAM_FILES],
    ["a subfolder of a program", { ...PROGRAM_FILES, "infra/index.ts": "" }, {}, "infra"],
    ["the plugin", { ...ON_PLUGIN, "node_modules/pulumi-apichat/plugin/pulumi-resource-apichat": "" }],
    ["the plugin before npm install", ON_PLUGIN, { plugin: /does not exist/ }],
    ["no program", { ...PROGRAM_FILES, "Pulumi.yaml": "name: [\n" }, { plugin: /Pulumi\.yaml:\d/ }],
    ["an outdated pulumi", { ...PROGRAM_FILES, ...pulumi("echo v3.215.0") }, { "Pulumi CLI": /too old/ }],
    ["a pulumi that fails", { ...PROGRAM_FILES, ...pulumi("exit 3") }, { "Pulumi CLI": /fails/ }],
  ])("checks %s", async (_, files, fails = {}, from = ".") => {
    await write(files);
    const failed = Object.entries(await examine({ from })).filter(([, { status }]) => status === "failed");
    const hint: unknown = expect.any(String);
    const expected = Object.entries(fails).map(([name, found]) => [
      name,
      { status: "failed", ...text(found), hint },
    ]);
    expect(failed).toEqual(expected);
  });

  const LISTED = [
    ["apichat", "0.1.0"],
    ["random", "4.0.0"],
    ["apichat", "0.2.0"],
  ].map(([name, version]) => ({ name, version }));
  it.each<[status: string, found: RegExp, script: string]>([
    ["ok", /^installed: 0\.1\.0, 0\.2\.0$/, `echo '${JSON.stringify(LISTED)}'`],
    ["warning", /^not installed$/, "echo []"],
    ["skipped", /^pulumi plugin ls fails$/, "exit 3"],
  ])("reports whether the plugin is installed, and its version: %s, %s", async (status, found, script) => {
    await write({ ...pulumi(script), "Pulumi.yaml": "name: shop\nruntime: python\n" });
    expect((await examine())["plugin"]).toMatchObject({ status, ...text(found) });
  });
});

/** Starts the service with a workspace, and an endpoint that passes the handshake with the verification key. */
async function startNetwork() {
  const workspaces = [{ name: "acme", apiKey: API_KEY }];
  const emulator = await startEmulator({ workspaces });
  afterTests(() => emulator.close());
  const { url } = await startEndpoint();
  return { emulator, acme: emulator.workspace("acme"), url };
}
const KEYS = { APICHAT_API_KEY: API_KEY, APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };

describe("apichat doctor and the network", () => {
  it("checks API key and handshake without sending a message, and fails for wrong keys", async () => {
    const { emulator, acme, url } = await startNetwork();
    const { baseUrl } = acme;
    const addresses = { baseUrl, webhookUrl: url };
    expect(await examine({ ...addresses, environment: KEYS })).toMatchObject({
      "base URL": { status: "ok", text: `${baseUrl} accepts the API key; no webhook is registered` },
      "webhook URL": text(/answers the handshake/),
    });
    expect(emulator.requests.map(({ action }) => action)).toEqual(["get-webhook"]);
    const wrong = { APICHAT_API_KEY: "a-wrong-api-key", APICHAT_VERIFICATION_KEY: "a-wrong-key-0123456789" };
    const findings = await examine({ ...addresses, environment: wrong });
    expect(findings).toMatchObject({
      "base URL": {
        status: "failed",
        ...text(/missing or wrong"}$/),
        hint: expect.stringMatching(/^The API key is/),
      },
      "webhook URL": { status: "failed" },
    });
    expect(findSecrets(JSON.stringify(findings), Object.values(wrong))).toEqual([]);
  });

  it("warns of a webhook URL that is not the registered one, and of one that does not respond", async () => {
    const { emulator, acme, url } = await startNetwork();
    const { baseUrl } = acme;
    acme.takeOver({ webhook_url: url, webhook_verification_key: VERIFICATION_KEY });
    const registered = await examine({ baseUrl, webhookUrl: `${url}/`, environment: KEYS });
    expect(registered["webhook URL"]?.text).not.toContain("different");
    const other = await examine({ baseUrl, webhookUrl: `${url}-other`, environment: KEYS });
    expect(other["webhook URL"]).toMatchObject({
      status: "warning",
      text: expect.stringContaining(`a different one is registered: ${url}`),
      hint: expect.stringContaining("npx --package pulumi-apichat apichat webhook set"),
    });
    vi.unstubAllEnvs();
    const nobody = await examine({ webhookUrl: `${emulator.url}/nothing/here` });
    expect(nobody["webhook URL"]).toMatchObject({ status: "warning", ...text(/HTTP 404 to GET/) });
  });

  it("without keys it only connects, and names everything that does not respond", async () => {
    const { url } = await startEndpoint();
    const baseUrl = `http://127.0.0.1:${await freePort()}/?token=${QUERY_SECRET}`;
    expect(await examine({ webhookUrl: url, baseUrl })).toMatchObject({
      "webhook URL": text(/HTTP \d+ to GET.*not checked further: no verification key/),
      "base URL": { status: "failed", ...text(/token=\*\*\*: no answer: .*ECONNREFUSED/) },
    });
    expect(await examine({ webhookUrl: url.replace("http:", "https:") })).toMatchObject({
      "webhook URL": {
        ...text(/does not speak TLS on this port/),
        hint: expect.stringContaining("protocol"),
      },
    });
  });
});
