import { beforeAll, describe, expect, it } from "vitest";
import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { startEndpoint, VERIFICATION_KEY } from "../support/endpoint.ts";
import { startServer } from "../support/http.ts";
import { blocksOf, readPage } from "../support/pages.ts";
import { findSecrets } from "../support/secrets.ts";
import { makeWriter, readJsonLines, runCli, startLive } from "./cli-harness.ts";
import type { ProgramOptions } from "./program.ts";

let writeText: Awaited<ReturnType<typeof makeWriter>>;
beforeAll(async () => {
  writeText = await makeWriter();
});

const FREE = ["--port", "0", "--bot-port", "0"];

const start = (parameters: readonly string[], options?: ProgramOptions) =>
  startLive(["emulator", ...FREE, ...parameters], options);

const send = (botUrl: string, text: string) =>
  new MessageClient({ botUrl, flowApiKey: "acme-flow-api-key" }).sendText({
    sender: { id: "7", name: "Ana" },
    conversationId: 5,
    text,
  });

describe("apichat emulator", () => {
  it("starts with a workspace and its keys, prints what happens, and exits with 0 on Ctrl-C", async () => {
    const endpoint = await startEndpoint();
    const program = start([]);
    const [, url = ""] = await program.waitFor(/^registration {2}(http\S+)$/m);
    expect((await program.waitFor(/^page +(\S+)$/m))[1]).toBe(`${url}/_emulator/`);
    const [, baseUrl = "", botUrl = ""] = await program.waitFor(
      /^workspace acme\n +base URL +(\S+)\n +bot URL +(\S+)\n +API key +acme-api-key\n +flow API key +acme-flow-/m,
    );
    const client = new RegistrationClient({ baseUrl, apiKey: "acme-api-key" });
    const webhookUrl = `${endpoint.url}/hook?token=a-secret-in-a-query`;
    await client.setWebhook({ webhookUrl, webhookVerificationKey: VERIFICATION_KEY });
    await send(botUrl, "Olá\u001b[2J");
    await expect.poll(() => endpoint.deliveries.map(({ kind }) => kind)).toEqual(["text"]);
    await program.waitFor(/delivery {2}delivered/);
    const { stdout, ...how } = await program.end();
    expect(how).toEqual({ exitCode: 0, signal: null, stderr: "" });
    expect(stdout).toMatch(/^[\d:]{8} {2}acme {2}handshake {2}passed/m);
    expect(stdout).toMatch(/^[\d:]{8} {2}acme {2}request {2}200 {2}set-webhook/m);
    expect(stdout).toMatch(/acme {2}message {2}from contact {2}contact 7, conversation 5: Olá\\u001b\[2J\n/);
    expect(stdout).toMatch(/acme {2}delivery {2}delivered {2}contact 7, conversation 5: Olá\S* {2}to http/);
    expect(stdout).not.toMatch(/from flow|request {2}200 {2}message/);
    expect(stdout).not.toContain("\u001b");
    expect(findSecrets(stdout, [VERIFICATION_KEY, "a-secret-in-a-query"])).toEqual([]);
  });

  it("reads the documented seed, prints JSON without the seed's keys, and prefers flags to the seed", async () => {
    const [yaml = ""] = blocksOf(readPage("docs/reference/emulator.md"), "yaml");
    const seed = `${yaml}\nhandshake: { encoding: json }\n`;
    const flags = ["--handshake-timeout-ms", "250", "--seed", await writeText("seed.yaml", seed)];
    const environment = { ACME_API_KEY: "api-key-of-the-environment" };
    const program = start(["--json", ...flags], { environment });
    const { url, workspaces } = await program.waitForJson<{ url: string; workspaces: { baseUrl: string }[] }>(
      ({ type }) => type === "started",
    );
    // A handshake setting in the seed is kept unless a flag sets it too.
    const switches = { handshake: { encoding: "json", timeoutMs: 250 } };
    expect(await (await fetch(`${url}/_emulator/settings`)).json()).toMatchObject({ switches });
    const { baseUrl = "" } = workspaces[0] ?? {};
    const client = new RegistrationClient({ baseUrl, apiKey: "api-key-of-the-environment" });
    expect(await client.getWebhook()).toBeUndefined();
    const { stdout, exitCode } = await program.end("SIGTERM");
    expect(exitCode).toBe(0);
    expect(readJsonLines(stdout).map(({ type }) => type)).toContain("request");
    expect(stdout).not.toContain("api-key-of-the-environment");
  });

  it("replies with the seed's flow, and requires the token from --token-file, but does not print it", async () => {
    const token = "a-token-for-the-control-api-0123456789";
    const seed = await writeText("seed.json", JSON.stringify({ flow: "menu" }));
    const files = ["--seed", seed, "--token-file", await writeText("token", `${token}\n`)];
    const program = start(files);
    const [, page = "", botUrl = ""] = await program.waitFor(
      /^page +(\S+)\?token=<the token>$[^]*?bot URL +(\S+)[^]*Ctrl-C/m,
    );
    expect((await fetch(`${page}health`)).status).toBe(401);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${page}health`, { headers })).status).toBe(200);
    await send(botUrl, "Oi");
    await program.waitFor(/from flow .*: What would you like to see\?/);
    const { stdout, stderr } = await program.end();
    expect(findSecrets(stdout + stderr, [token])).toEqual([]);
  });
});

it.each(["--port", "--bot-port"])("apichat emulator exits with 1 if %s is in use", async (flag) => {
  const { port } = await startServer();
  const said = await runCli(["emulator", ...FREE, "--json", flag, String(port)]);
  expect(said).toMatchObject({ exitCode: 1, stdout: "" });
  expect(said.error?.message).toContain(`port ${port}: the port is taken by another program`);
  expect(said.error?.message).toContain(`ss -ltnp 'sport = :${port}'" shows it), or set another port`);
});
