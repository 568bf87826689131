import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RegistrationClient } from "pulumi-apichat/client";
import { startEndpoint, VERIFICATION_KEY } from "../support/endpoint.ts";
import { startServer } from "../support/http.ts";
import { blocksOf, readPage } from "../support/pages.ts";
import { findSecrets } from "../support/secrets.ts";
import { readJsonLines, startLive, type LiveProgram } from "./live-lines.ts";
import { run } from "./program.ts";

interface Started {
  type: "started";
  page: string;
  url: string;
  botUrl: string;
  workspaces: { name: string; baseUrl: string; botUrl: string; apiKey?: string; flowApiKey?: string }[];
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "apichat-emulator-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function writeText(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** A seed with two workspaces, of which acme has this key. */
const writeSeed = (apiKey: string): Promise<string> =>
  writeText(
    "kept.yaml",
    JSON.stringify({
      workspaces: [
        { name: "acme", apiKey },
        { name: "globex", apiKey: "same" },
      ],
    }),
  );

const FREE = ["--port", "0", "--bot-port", "0"];

const start = (...parameters: string[]): LiveProgram => startLive(["emulator", ...FREE, ...parameters]);

async function startWithJson(...parameters: string[]): Promise<{ program: LiveProgram; started: Started }> {
  const program = start("--json", ...parameters);
  return { program, started: await program.waitForJson<Started>(({ type }) => type === "started") };
}

async function end({ child, ended }: LiveProgram, signal: NodeJS.Signals = "SIGINT") {
  child.kill(signal);
  return ended;
}

const clientOf = ({ baseUrl, apiKey = "" }: Started["workspaces"][number]): RegistrationClient =>
  new RegistrationClient({ baseUrl, apiKey, requestSeconds: 10 });

const message = (text: string) => ({
  content: text,
  message_type: "incoming",
  event: "message_created",
  conversation_id: 5,
  sender: { id: "7", name: "Ana", email: "", phone_number: "", type: "contact" },
});

const send = (botUrl: string, flowApiKey: string, text: string): Promise<Response> =>
  fetch(botUrl, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${flowApiKey}` },
    body: JSON.stringify(message(text)),
  });

describe("apichat emulator", () => {
  it("starts with a workspace and its keys, shows what happens, and ends with 0 at Ctrl-C", async () => {
    const endpoint = await startEndpoint();
    const program = start();
    const [, url = ""] = await program.waitFor(/^registration {2}(http\S+)$/m);
    expect((await program.waitFor(/^page +(\S+)$/m))[1]).toBe(`${url}/_emulator/`);
    const [, baseUrl = "", botUrl = ""] = await program.waitFor(
      /^workspace acme\n +base URL +(\S+)\n +bot URL +(\S+)\n +API key +acme-api-key\n +flow API key +acme-flow-api-key$/m,
    );
    const client = new RegistrationClient({ baseUrl, apiKey: "acme-api-key" });
    const webhookUrl = `${endpoint.url}/hook?token=a-secret-in-a-query`;
    await client.setWebhook({ webhookUrl, webhookVerificationKey: VERIFICATION_KEY });
    expect((await send(botUrl, "acme-flow-api-key", "Olá")).status).toBe(200);
    await expect.poll(() => endpoint.deliveries.map(({ kind }) => kind)).toEqual(["text"]);
    await program.waitFor(/delivery {3}delivered/);
    const { stdout, stderr, exitCode, signal } = await end(program);
    expect([exitCode, signal, stderr]).toEqual([0, null, ""]);
    expect(stdout).toMatch(/^[\d:]{8} {2}acme {2}handshake {2}passed/m);
    expect(stdout).toMatch(/^[\d:]{8} {2}acme {2}request {4}200 +set-webhook/m);
    expect(stdout).toMatch(/acme {2}message {4}from contact +contact 7, conversation 5: Olá\n/);
    expect(stdout).toMatch(/acme {2}message {4}from flow +contact 7, conversation 5: /);
    expect(stdout).not.toContain("\u001b");
    expect(findSecrets(stdout, [VERIFICATION_KEY, "a-secret-in-a-query"])).toEqual([]);
  });

  it("prints one JSON object a line with --json, without keys but those that it made", async () => {
    const endpoint = await startEndpoint();
    const { program, started } = await startWithJson("--workspace", "acme", "--workspace", "globex");
    expect(started.workspaces.map(({ name, apiKey }) => [name, apiKey])).toEqual([
      ["acme", "acme-api-key"],
      ["globex", "globex-api-key"],
    ]);
    const [acme] = started.workspaces;
    if (acme === undefined) throw new Error("no workspace");
    await clientOf(acme).setWebhook({ webhookUrl: endpoint.url, webhookVerificationKey: VERIFICATION_KEY });
    await program.waitForJson(
      ({ type, request }) => type === "request" && JSON.stringify(request).includes("200"),
    );
    const { stdout, exitCode } = await end(program, "SIGTERM");
    expect(exitCode).toBe(0);
    const [, ...events] = readJsonLines(stdout);
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["handshake", "request"]));
    expect(findSecrets(JSON.stringify(events), [VERIFICATION_KEY, "acme-api-key"])).toEqual([]);
  });

  it("takes workspaces and faults from a seed, and shows none of its keys", async () => {
    const seed = await writeText(
      "seed.yaml",
      `workspaces:
  - name: initech
    apiKey: api-key-of-the-seed
    flow: silent
faults:
  - operation: get-webhook
    fault: { status: 418 }
`,
    );
    const { program, started } = await startWithJson("--seed", seed);
    expect(started.workspaces.map(({ name }) => name)).toEqual(["initech"]);
    const [initech] = started.workspaces;
    const answer = await fetch(`${initech?.baseUrl}?action=get-webhook`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ChaveApi: "api-key-of-the-seed" }),
    });
    expect(answer.status).toBe(418);
    const { stdout } = await end(program);
    expect(findSecrets(stdout, ["api-key-of-the-seed"])).toEqual([]);
  });

  it("takes the seed of the documentation, and a flag wins over the same field", async () => {
    const [yaml = ""] = blocksOf(readPage("docs/emulator.md"), "yaml");
    const seed = await writeText("seed.yaml", yaml);
    const program = startLive(["emulator", ...FREE, "--json", "--delivery-attempts", "7", "--seed", seed], {
      environment: { ACME_API_KEY: "api-key-of-the-environment" },
    });
    const { url, workspaces } = await program.waitForJson<Started>(({ type }) => type === "started");
    const settings = (await (await fetch(`${url}/_emulator/settings`)).json()) as object;
    expect(settings).toMatchObject({ switches: { deliveryAttempts: 7 } });
    const [acme] = workspaces;
    if (acme === undefined) throw new Error("no workspace");
    const client = clientOf({ ...acme, apiKey: "api-key-of-the-environment" });
    expect(await client.getWebhook()).toBeUndefined();
    await end(program);
  });

  it("takes the seed of its help, keeping the parts of a handshake that no flag names", async () => {
    const { stdout } = await run("emulator", "--help");
    const [, indented = ""] = /Such as:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
    const seed = await writeText("help.yaml", indented.replaceAll(/^ {2}/gm, ""));
    const { program, started } = await startWithJson("--seed", seed, "--handshake-timeout-ms", "250");
    const settings = (await (await fetch(`${started.url}/_emulator/settings`)).json()) as object;
    expect(settings).toMatchObject({
      switches: { deliveryAttempts: 3, "handshake.encoding": "json", "handshake.timeoutMs": 250 },
    });
    await end(program);
  });

  it("reads an open point as it is told to", async () => {
    const fault = '{"operation":"set-webhook","fault":{"status":418}}';
    const { program, started } = await startWithJson("--before-first-set", "not-found", "--fault", fault);
    const [acme] = started.workspaces;
    if (acme === undefined) throw new Error("no workspace");
    const post = (action: string, fields: object): Promise<Response> =>
      fetch(`${acme.baseUrl}?action=${action}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ChaveApi: acme.apiKey, ...fields }),
      });
    expect((await post("get-webhook", {})).status).toBe(404);
    const registration = { webhook_url: "http://127.0.0.1:9/", webhook_verification_key: VERIFICATION_KEY };
    expect((await post("set-webhook", registration)).status).toBe(418);
    await end(program);
  });

  it("keeps its workspaces with --data, so that the next run with the same words has them", async () => {
    const endpoint = await startEndpoint();
    const words = ["--data", join(folder, "emulator.db"), "--workspace", "acme"];
    const first = await startWithJson(...words);
    const [acme] = first.started.workspaces;
    if (acme === undefined) throw new Error("no workspace");
    await clientOf(acme).setWebhook({ webhookUrl: endpoint.url, webhookVerificationKey: VERIFICATION_KEY });
    await end(first.program);
    const second = await startWithJson(...words);
    const [again] = second.started.workspaces;
    expect(again?.name).toBe("acme");
    if (again === undefined) throw new Error("no workspace");
    expect((await clientOf(again).getWebhook())?.webhookUrl).toBe(endpoint.url);
    const { stderr } = await end(second.program);
    expect(stderr).toBe("");
  });

  it("tells of a workspace that --data keeps otherwise than the seed has it", async () => {
    const data = join(folder, "kept.db");
    const first = await startWithJson("--data", data, "--seed", await writeSeed("a-first-api-key"));
    expect((await end(first.program)).stderr).toBe("");
    const second = await startWithJson("--data", data, "--seed", await writeSeed("a-second-api-key"));
    expect((await end(second.program)).stderr).toBe(
      `acme: as kept in ${data}; its options are not applied\n`,
    );
  });

  it("warns of a short token, and says that the page is at every address where it listens on all", async () => {
    const token = await writeText("short-token", "short\n");
    const program = start("--host", "0.0.0.0", "--token-file", token);
    const [, port] = await program.waitFor(/at every address of this machine: port (\d+), [^]*Ctrl-C/);
    expect(await program.waitFor(/^registration +http:\/\/127\.0\.0\.1:(\d+)$/m)).toHaveProperty("1", port);
    const { stderr } = await end(program);
    expect(stderr).toMatch(
      /^warning: the token in .* has 5 characters and may be guessed; give it 16 or more\n$/,
    );
  });

  it("replies as a scenario file says, and asks for the token of a file without printing it", async () => {
    const token = "a-token-for-the-control-api-0123456789";
    const scenario = await writeText(
      "greeting.yaml",
      'rules:\n  - when: { text: oi }\n    reply: [{ type: text, text: "Olá, {{name}}!" }]\n',
    );
    const program = start("--scenario", scenario, "--token-file", await writeText("token", `${token}\n`));
    const [, page = "", botUrl = ""] = await program.waitFor(
      /^page +(\S+)\?token=<the token>$[^]*?bot URL +(\S+)[^]*Ctrl-C/m,
    );
    expect((await fetch(`${page}health`)).status).toBe(401);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${page}health`, { headers })).status).toBe(200);
    expect((await send(botUrl, "acme-flow-api-key", "Oi")).status).toBe(200);
    await program.waitFor(/from flow .*: Olá, Ana!/);
    const { stdout, stderr } = await end(program);
    expect(findSecrets(stdout + stderr, [token])).toEqual([]);
  });

  it("prints where it is and nothing more with --quiet", async () => {
    const program = start("--quiet");
    const [, baseUrl = ""] = await program.waitFor(/base URL +(\S+)[^]*Ctrl-C ends it\n/);
    await fetch(baseUrl);
    const { stdout } = await end(program);
    expect(stdout).toMatch(/Ctrl-C ends it\n$/);
  });
});

describe("apichat emulator, used wrongly", () => {
  it("ends with 2 and says what is wrong and where, without a value of a file", async () => {
    const seed = await writeText(
      "wrong.yaml",
      "workspaces:\n  - name: acme\n    apiKey: [a-secret-in-a-seed]\n  - nam: globex\n",
    );
    const noScenario = await writeText("scenario.yaml", "rules: 3\n");
    const cases: [string[], RegExp][] = [
      [["--seed", seed], /wrong\.yaml:3:\d+: workspaces\[0\]\.apiKey: must be a text/],
      [["--seed", seed], /wrong\.yaml:4:\d+: workspaces\[1\]/],
      [["--seed", join(folder, "nowhere.yaml")], /nowhere\.yaml: cannot be read \(ENOENT\)/],
      [["--scenario", noScenario], /scenario\.yaml:1:\d+: rules/],
      [["--scenario", noScenario, "--flow", "echo"], /either --flow or --scenario/],
      [["--fault", "{"], /must be JSON/],
      [["--fault", '{"operation":"explode"}'], /faults\[0\]/],
      [["--flow", "explode"], /Allowed choices are echo, menu, silent/],
      [["--failed-handshake", "explode"], /Allowed choices are keeps, clears, unverified/],
      [["--host", "0.0.0.0"], /token/],
      [["--workspace", "a/b"], /letter/],
    ];
    for (const [parameters, reason] of cases) {
      const said = await run("emulator", ...FREE, ...parameters);
      expect([parameters, said.exitCode, said.stdout]).toEqual([parameters, 2, ""]);
      expect(said.stderr).toMatch(reason);
      expect(said.stderr).not.toContain("a-secret-in-a-seed");
    }
  });

  it("ends with 1 where a port is taken, and says how to find who has it", async () => {
    const { port } = await startServer();
    for (const parameters of [
      ["--port", String(port), "--bot-port", "0"],
      ["--port", "0", "--bot-port", String(port)],
    ]) {
      const said = await run("emulator", ...parameters);
      expect(said).toMatchObject({ exitCode: 1, stdout: "" });
      expect(said.stderr).toContain(
        `cannot listen on 127.0.0.1 port ${port}: the port is taken by another program`,
      );
      expect(said.stderr).toContain(`ss -ltnp 'sport = :${port}'`);
    }
  });

  it("names every open point, with examples and exit codes, in its help", async () => {
    const { stdout, exitCode } = await run("emulator", "--help");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/Open points of the specification[^]*--flow-key <reading>[^]*- bearer: /);
    expect(stdout).toMatch(/Examples:\n.*\$ apichat emulator[^]*Exit code: 0 ended/);
  });
});
