import { removalCommand } from "../../dist/provider/errors/index.js";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Emulator } from "../../dist/provider/emulator/index.js";
import type { Endpoint } from "../support/endpoint.ts";
import { startServer } from "../support/http.ts";
import { API_KEY, errorOf, QUERY_SECRET, runCli, VERIFICATION_KEY } from "./cli-harness.ts";
import { startService, startWebhook } from "./cli-service.ts";
import type { Said } from "./program.ts";

let endpoint: Endpoint;
let emulator: Emulator;
let webhookUrl: string;

beforeAll(async () => {
  endpoint = await startWebhook();
  webhookUrl = `${endpoint.url}/hook?token=${QUERY_SECRET}`;
});

beforeEach(async () => {
  emulator = await startService();
});

const acme = () => emulator.workspace("acme");

/** The actions that reached the service, in their order. */
const actions = (): string[] => emulator.requests.map(({ action }) => action ?? "");

function webhook(parameters: readonly string[], shows: string[] = [], apiKey = API_KEY): Promise<Said> {
  const environment = {
    APICHAT_BASE_URL: acme().baseUrl,
    APICHAT_API_KEY: apiKey,
    APICHAT_VERIFICATION_KEY: VERIFICATION_KEY,
  };
  return runCli(["webhook", ...parameters], { environment, shows });
}

const set = (...parameters: string[]): Promise<Said> =>
  webhook(["set", "--webhook-url", webhookUrl, ...parameters]);
const remove = (...parameters: string[]): Promise<Said> =>
  webhook(["delete", "--webhook-url", webhookUrl, ...parameters]);

const FOREIGN = { webhook_url: "https://foreign.example/hook", webhook_verification_key: "foreign-key-0123" };

test("--api-key-as body-and-bearer reaches a service that asks for both", async () => {
  emulator = await startService({ registrationKey: "body-and-bearer" });
  acme().apiKey = "an-api-key-for-a-header";
  const run = async (...parameters: string[]): Promise<number | null> =>
    (await webhook(parameters, [], acme().apiKey)).exitCode;
  expect(await run("get")).toBe(1);
  const both = ["--api-key-as", "body-and-bearer"];
  expect(await run("set", "--webhook-url", webhookUrl, ...both)).toBe(0);
  expect(await run("get", ...both)).toBe(0);
  expect(await run("delete", "--webhook-url", webhookUrl, ...both)).toBe(0);
  expect(emulator.requests.map(({ status }) => status)).toEqual([401, 200, 200, 200, 200, 200, 200]);
});

describe("apichat webhook set", () => {
  test("registers where nothing stands, and prints what stands now", async () => {
    const { exitCode, stdout, stderr } = await set();
    expect({ exitCode, stderr: stderr.replaceAll(/.*loopback.*\n/g, "") }).toEqual({
      exitCode: 0,
      stderr: "",
    });
    expect(stdout.split("\n")).toEqual([
      `registered at ${acme().baseUrl}`,
      `  url      ${endpoint.url}/hook?token=***`,
      "  status   verified",
      `  bot url  ${acme().botUrl}`,
      "  key      set, the same as yours",
      "",
    ]);
    expect(acme().registration).toMatchObject({
      webhook_url: webhookUrl,
      webhook_verification_key: VERIFICATION_KEY,
    });
  });

  test("adopts the same URL, and pushes a key that has changed", async () => {
    acme().takeOver({ webhook_url: webhookUrl, webhook_verification_key: VERIFICATION_KEY });
    expect(JSON.parse((await set("--json")).stdout)).toEqual({
      result: "unchanged",
      webhookUrl: `${endpoint.url}/hook?token=***`,
      status: "verified",
      botUrl: acme().botUrl,
      keyMatches: true,
    });
    expect(actions()).toEqual(["get-webhook"]);
    acme().takeOver({ webhook_url: webhookUrl, webhook_verification_key: "an-older-key-0123456" });
    expect(JSON.parse((await set("--json")).stdout)).toMatchObject({ result: "updated" });
    expect(acme().registration?.webhook_verification_key).toBe(VERIFICATION_KEY);
  });

  test("leaves another URL alone, and takes over with --replace", async () => {
    acme().takeOver(FOREIGN);
    const refused = await set("--json");
    expect({ exitCode: refused.exitCode, stdout: refused.stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(errorOf(refused)).toEqual({
      code: "conflict",
      message: expect.stringContaining(
        removalCommand({ baseUrl: acme().baseUrl, webhookUrl: FOREIGN.webhook_url }),
      ) as string,
    });
    expect(acme().registration?.webhook_url).toBe(FOREIGN.webhook_url);
    const { exitCode, stdout } = await set("--replace");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("in place of https://foreign.example/hook\n");
    expect(acme().registration?.webhook_url).toBe(webhookUrl);
  });

  test("stops at another bot than the one given, also with --replace", async () => {
    acme().takeOver(FOREIGN);
    const botUrl = emulator.workspace("globex").botUrl;
    const said = await set("--replace", "--bot-url", botUrl, "--json");
    expect(said.exitCode).toBe(1);
    expect(errorOf(said).code).toBe("conflict");
    expect(acme().registration?.webhook_url).toBe(FOREIGN.webhook_url);
  });

  test("takes back what it has set if another bot than the given one comes out", async () => {
    const { botUrl, botCode } = emulator.workspace("globex");
    const said = await set("--bot-url", botUrl, "--json");
    expect({ exitCode: said.exitCode, stdout: said.stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(errorOf(said).code).toBe("conflict");
    expect(errorOf(said).message).toContain(`has the bot ${acme().botCode}, not ${botCode} of --bot-url`);
    expect(errorOf(said).message).toContain("removed again, and nothing is registered there now");
    expect(acme().registration).toBeUndefined();
    expect(actions()).toContain("set-webhook");
  });

  test("leaves what it has set where another bot comes out and nobody knows what stood there", async () => {
    acme().takeOver(FOREIGN);
    emulator.injectFault({ operation: "get-webhook", times: 1, fault: { status: 400 } });
    const said = await set("--replace", "--bot-url", emulator.workspace("globex").botUrl);
    expect(said.exitCode).toBe(1);
    expect(said.stderr).toContain(`${endpoint.url}/hook?token=*** is registered there now`);
    expect(acme().registration?.webhook_url).toBe(webhookUrl);
  });

  test("gives up on a key that the endpoint refuses in three rounds, long before its time is over", async () => {
    const deaf = await startWebhook(["another-key-0123456789"]);
    const said = await webhook([
      "set",
      "--webhook-url",
      `${deaf.url}/hook`,
      "--ready-seconds",
      "3600",
      "--json",
    ]);
    expect(said.exitCode).toBe(1);
    expect(errorOf(said).message).toMatch(/refuses the token[^]*attempts: 3/);
    expect(actions()).toEqual(["get-webhook"]);
  });

  test("stops before set-webhook if the handshake fails, and not with --preflight off", async () => {
    const deaf = await startWebhook(["another-key-0123456789"]);
    const parameters = ["set", "--webhook-url", `${deaf.url}/hook`, "--ready-seconds", "0"];
    const said = await webhook([...parameters, "--json"]);
    expect(said.exitCode).toBe(1);
    expect(errorOf(said)).toMatchObject({
      code: "handshake_failed",
      message: expect.stringContaining("set-webhook was not called") as string,
    });
    expect(actions()).toEqual(["get-webhook"]);
    expect((await webhook([...parameters, "--preflight", "off"])).exitCode).toBe(1);
    expect(actions()).toContain("set-webhook");
  });

  test("says what is wrong with its options, and asks the service nothing", async () => {
    const said = await webhook(["set", "--webhook-url", `chat.example/hook?token=${QUERY_SECRET}`]);
    expect(said).toMatchObject({ exitCode: 2, stdout: "" });
    expect(said.stderr).toMatch(
      /^error: option '--webhook-url <url>' .* must be an absolute http or https URL/,
    );
    expect((await webhook(["set"])).exitCode).toBe(2);
    expect((await set("--preflight", "never")).exitCode).toBe(2);
    expect(emulator.requests).toEqual([]);
  });
});

describe("apichat webhook delete", () => {
  test("removes the webhook of this URL, however it is spelt", async () => {
    acme().takeOver({ webhook_url: webhookUrl, webhook_verification_key: VERIFICATION_KEY });
    const { exitCode, stdout } = await webhook([
      "delete",
      "--webhook-url",
      webhookUrl.replace("http://", "HTTP://").replace("/hook", "/%68ook"),
    ]);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `deleted ${endpoint.url}/hook?token=*** at ${acme().baseUrl}\n`,
    });
    expect(acme().registration).toBeUndefined();
  });

  test("leaves another URL or another bot alone, unless --replace", async () => {
    acme().takeOver(FOREIGN);
    const refused = await remove();
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain("https://foreign.example/hook");
    expect(refused.stderr).toContain(
      removalCommand({ baseUrl: acme().baseUrl, webhookUrl: FOREIGN.webhook_url }),
    );
    const otherBot = ["--webhook-url", FOREIGN.webhook_url, "--bot-url", emulator.workspace("globex").botUrl];
    expect((await webhook(["delete", ...otherBot])).exitCode).toBe(1);
    expect(acme().registration).toBeDefined();
    expect((await remove("--replace")).exitCode).toBe(0);
    expect(acme().registration).toBeUndefined();
  });

  test("does not repeat itself on what somebody else has set meanwhile", async () => {
    acme().takeOver({ webhook_url: webhookUrl, webhook_verification_key: VERIFICATION_KEY });
    emulator.injectFault({
      operation: "delete-webhook",
      times: 1,
      fault: { status: 503, retryAfterSeconds: 2 },
    });
    const said = remove();
    await expect.poll(actions, { timeout: 30_000 }).toContain("delete-webhook");
    acme().takeOver(FOREIGN);
    expect((await said).exitCode).toBe(0);
    expect(acme().registration?.webhook_url).toBe(FOREIGN.webhook_url);
  });

  test("has nothing to do where nothing is registered", async () => {
    expect(await remove()).toMatchObject({
      exitCode: 0,
      stdout: `nothing is registered at ${acme().baseUrl}\n`,
    });
    expect(JSON.parse((await remove("--json")).stdout)).toEqual({ result: "nothing" });
    expect(actions()).not.toContain("delete-webhook");
  });
});

describe("apichat webhook get", () => {
  test("tells what is registered, and shows the key only with --show-key", async () => {
    acme().takeOver({ webhook_url: webhookUrl, webhook_verification_key: VERIFICATION_KEY });
    const { stdout } = await webhook(["get"]);
    expect(stdout).toContain(`  url      ${endpoint.url}/hook?token=***\n`);
    expect(stdout).toContain("  key      set, the same as yours\n");
    const shown = await webhook(["get", "--show-key", "--json"], [VERIFICATION_KEY]);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      registered: true,
      keyMatches: true,
      key: VERIFICATION_KEY,
    });
    acme().takeOver(FOREIGN);
    const other = JSON.parse((await webhook(["get", "--json"])).stdout) as object;
    expect(other).toMatchObject({ keyMatches: false });
    expect(other).not.toHaveProperty("key");
    expect((await webhook(["get"])).stdout).toContain("  key      set, another than yours\n");
  });

  test("warns of another bot than the given one, and names the variable that gives it", async () => {
    acme().takeOver(FOREIGN);
    const { botUrl, botCode } = emulator.workspace("globex");
    const expected = `warning: the workspace has the bot ${acme().botCode}, not ${botCode} of`;
    const byFlag = await webhook(["get", "--bot-url", botUrl]);
    expect(byFlag).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`${expected} --bot-url`) as string,
    });
    const environment = {
      APICHAT_BASE_URL: acme().baseUrl,
      APICHAT_API_KEY: API_KEY,
      APICHAT_BOT_URL: botUrl,
    };
    const byVariable = await runCli(["webhook", "get"], { environment });
    expect(byVariable.stderr).toContain(`${expected} APICHAT_BOT_URL`);
    expect((await webhook(["get", "--bot-url", acme().botUrl])).stderr).toBe("");
  });

  test("says so if the bot URL is a base URL", async () => {
    for (const url of [acme().baseUrl, "https://platform.example/initech/apichat"]) {
      const said = await webhook(["get", "--bot-url", url]);
      expect(said).toMatchObject({ exitCode: 2, stdout: "" });
      expect(said.stderr).toContain("is a base URL, which takes no messages");
    }
  });

  test("names flags and variables where a client names what a program sets", async () => {
    acme().apiKey = "rotated-api-key-0123456789";
    const refused = await webhook(["get"]);
    expect(refused.stderr).toContain("Give it with --api-key-file or APICHAT_API_KEY\n");
    const gone = await webhook(["get", "--base-url", `${emulator.url}/nowhere`]);
    expect(gone.stderr).toContain("Check --base-url\n");
    const { url } = await startServer(() => undefined);
    const silent = await webhook(["get", "--base-url", `${url}/`, "--request-seconds", "1"]);
    expect(silent.stderr).toContain("Raise --request-seconds if the service is slow\n");
    expect(refused.stderr + gone.stderr + silent.stderr).not.toMatch(/baseUrl|requestSeconds|pulumi/);
  });

  test("ends with 0 where nothing is registered, with 1 where the API key is refused", async () => {
    const nothing = await webhook(["get", "--json"]);
    expect(nothing.exitCode).toBe(0);
    expect(JSON.parse(nothing.stdout)).toEqual({ registered: false });
    acme().apiKey = "rotated-api-key-0123456789";
    const refused = await webhook(["get", "--json"]);
    expect({ exitCode: refused.exitCode, stdout: refused.stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(errorOf(refused).code).toBe("unauthorized");
  });
});
