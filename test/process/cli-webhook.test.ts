import { removalCommand } from "../../dist/provider/errors/index.js";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startEmulator, type Emulator } from "../../dist/provider/emulator/index.js";
import { startEndpoint, type Endpoint } from "../support/endpoint.ts";
import { afterTests } from "../support/http.ts";
import { API_KEY, makeWriter, QUERY_SECRET, runCli, VERIFICATION_KEY } from "./cli-harness.ts";

let endpoint: Endpoint;
let emulator: Emulator;
let webhookUrl: string;
/** The URL as printed. */
let shownUrl: string;

beforeAll(async () => {
  endpoint = await startEndpoint();
  webhookUrl = `${endpoint.url}/hook?token=${QUERY_SECRET}`;
  shownUrl = `${endpoint.url}/hook?token=***`;
});

beforeEach(async () => {
  const workspaces = ["acme", "globex"].map((name) => ({ name, apiKey: API_KEY }));
  emulator = await startEmulator({ workspaces });
  afterTests(() => emulator.close());
});

const acme = () => emulator.workspace("acme");
const globex = () => emulator.workspace("globex");

/** The actions that reached the service, in order. */
const actions = (): string[] => emulator.requests.map(({ operation }) => operation ?? "");

function webhook(parameters: readonly string[], shows: string[] = []) {
  const environment = {
    APICHAT_BASE_URL: acme().baseUrl,
    APICHAT_API_KEY: API_KEY,
    APICHAT_VERIFICATION_KEY: VERIFICATION_KEY,
  };
  return runCli(["webhook", ...parameters], { environment, shows });
}

const set = (...parameters: string[]) => webhook(["set", "--webhook-url", webhookUrl, ...parameters]);
const remove = (...parameters: string[]) => webhook(["delete", "--webhook-url", webhookUrl, ...parameters]);

const plan = async (...parameters: string[]) => {
  const workspaces = ["acme", "globex"].map((name) => ({
    name,
    baseUrl: emulator.workspace(name).baseUrl,
  }));
  const writeFile = await makeWriter();
  const file = await writeFile("workspaces.yaml", JSON.stringify({ webhookUrl, workspaces }));
  return webhook(["plan", "--file", file, ...parameters]);
};

const OURS = (key = VERIFICATION_KEY) => ({ webhook_url: webhookUrl, webhook_verification_key: key });
const FOREIGN = { webhook_url: "https://foreign.example/hook", webhook_verification_key: "foreign-key-0123" };

/** The output for a conflict: the error shows the command that removes the foreign webhook. */
const CONFLICT = () => ({
  exitCode: 1,
  stdout: "",
  error: {
    code: "conflict",
    message: expect.stringContaining(
      removalCommand({ baseUrl: acme().baseUrl, webhookUrl: FOREIGN.webhook_url }),
    ),
  },
});

describe("apichat webhook set", () => {
  test("registers an empty workspace, and prints the registration", async () => {
    const { exitCode, stdout, stderr } = await set();
    expect([exitCode, stderr.replaceAll(/.*loopback.*\n/g, "")]).toEqual([0, ""]);
    expect(stdout.split("\n")).toEqual([
      `registered at ${acme().baseUrl}`,
      `  url      ${shownUrl}`,
      "  status   verified",
      `  bot url  ${acme().botUrl}`,
      "  key      set, the same as yours",
      "",
    ]);
    expect(acme().registration).toMatchObject(OURS());
  });

  test("adopts a webhook with the same URL, and sets a changed key", async () => {
    acme().takeOver(OURS());
    const shown = { webhookUrl: shownUrl, status: "verified", botUrl: acme().botUrl, keyMatches: true };
    expect((await set("--json")).json).toEqual({ result: "unchanged", ...shown });
    expect(actions()).toEqual(["get-webhook"]);
    acme().takeOver(OURS("an-older-key-0123456"));
    expect((await set("--json")).json).toEqual({ result: "updated", ...shown });
    expect(acme().registration).toMatchObject(OURS());
  });

  test("keeps a webhook with a different URL, and replaces it if --replace is given", async () => {
    acme().takeOver(FOREIGN);
    expect(await set("--json")).toMatchObject(CONFLICT());
    expect(acme().registration).toMatchObject(FOREIGN);
    expect(await set("--replace")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("in place of https://foreign.example/hook\n"),
    });
    expect(acme().registration).toMatchObject(OURS());
  });

  test("gives up if the endpoint rejects the key 3 times; calls set-webhook only with --preflight off", async () => {
    const { url } = await startEndpoint({ keys: "another-key-0123456789" });
    const refused = ["set", "--webhook-url", `${url}/hook`, "--json"];
    const patient = await webhook([...refused, "--ready-seconds", "3600"]);
    expect(patient).toMatchObject({ exitCode: 1, error: { code: "handshake_failed" } });
    expect(actions()).toEqual(["get-webhook"]);
    await webhook([...refused, "--ready-seconds", "0", "--preflight", "off"]);
    expect(actions()).toContain("set-webhook");
  });
});

describe("apichat webhook delete", () => {
  test("removes the webhook with this URL, however it is spelt, and does nothing the second time", async () => {
    acme().takeOver(OURS());
    const spelt = webhookUrl.replace("http://", "HTTP://").replace("/hook", "/%68ook");
    const stdout = `deleted ${shownUrl} at ${acme().baseUrl}\n`;
    expect(await webhook(["delete", "--webhook-url", spelt])).toMatchObject({ exitCode: 0, stdout });
    expect(acme().registration).toBeUndefined();
    expect(await remove("--json")).toMatchObject({ exitCode: 0, json: { result: "nothing" } });
    expect(actions().filter((action) => action === "delete-webhook")).toHaveLength(1);
  });

  test("keeps a webhook with a different URL unless --replace is given", async () => {
    acme().takeOver(FOREIGN);
    expect(await remove("--json")).toMatchObject(CONFLICT());
    expect(acme().registration).toMatchObject(FOREIGN);
    expect(await remove("--replace")).toMatchObject({ exitCode: 0 });
    expect(acme().registration).toBeUndefined();
  });

  test("does not retry if somebody else has registered a webhook in the meantime", async () => {
    acme().takeOver(OURS());
    const fault = { status: 503, retryAfterSeconds: 2 };
    emulator.injectFault({ operation: "delete-webhook", times: 1, fault });
    const said = remove();
    await expect.poll(actions, { timeout: 30_000 }).toContain("delete-webhook");
    acme().takeOver(FOREIGN);
    expect(await said).toMatchObject({ exitCode: 0 });
    expect(acme().registration).toMatchObject(FOREIGN);
  });
});

describe("apichat webhook get", () => {
  test("prints the registration, and with --show-key also the key", async () => {
    acme().takeOver(FOREIGN);
    expect((await webhook(["get"])).stdout).toContain("  key      set, different from yours\n");
    expect(await webhook(["get", "--json"])).toMatchObject({
      stderr: "",
      json: {
        registered: true,
        webhookUrl: FOREIGN.webhook_url,
        status: "verified",
        botUrl: acme().botUrl,
        keyMatches: false,
      },
    });
    acme().takeOver(OURS());
    const { json } = await webhook(["get", "--show-key", "--json"], [VERIFICATION_KEY]);
    expect(json).toMatchObject({ webhookUrl: shownUrl, keyMatches: true, key: VERIFICATION_KEY });
  });

  test("exits with 0 for an empty workspace; if the API key is rejected, names its flag and variable", async () => {
    expect(await webhook(["get", "--json"])).toMatchObject({ exitCode: 0, json: { registered: false } });
    acme().change({ apiKey: "rotated-api-key-0123456789" });
    const refused = await webhook(["get", "--json"]);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "", error: { code: "unauthorized" } });
    expect(refused.error?.message).toContain("Pass it with --api-key-file, or set APICHAT_API_KEY");
  });
});

test("apichat webhook plan prints a table and, if several workspaces fail alike, one reason below it", async () => {
  globex().takeOver(OURS());
  expect(await plan()).toMatchObject({
    exitCode: 0,
    stdout: "WORKSPACE  STATE  DETAIL\nacme       free\nglobex     yours  verified\n",
    stderr: "",
  });
  emulator.injectFault({ operation: "get-webhook", fault: { status: 403 }, every: 1 });
  expect((await plan()).stdout.trimEnd().split("\n")).toEqual([
    "WORKSPACE  STATE         DETAIL",
    "acme       unauthorized  HTTP 403",
    "globex     unauthorized  HTTP 403",
    "",
    expect.stringMatching(/^acme: get-webhook at .*: HTTP 403.* The API key is issued by/),
  ]);
  const workspaces = ["acme", "globex"].map((name) => ({ name, state: "unauthorized" }));
  expect(await plan("--json")).toMatchObject({ exitCode: 1, json: { ok: false, workspaces } });
});

test("apichat webhook escapes control characters and line breaks from the service", async () => {
  const status = "failed\u001b[31m\u009b2J\r\nacme: forged";
  acme().takeOver(OURS());
  acme().change({ webhook_status: status });
  const { stdout } = await webhook(["get"]);
  expect(stdout).toContain("failed\\u001b[31m\\u009b2J\\u000d\\u000aacme: forged");
  const { stderr } = await set("--ready-seconds", "0", "--preflight", "off");
  for (const printed of [stdout, stderr]) {
    expect(printed.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(printed).not.toMatch(/^acme: forged/m);
  }
});
