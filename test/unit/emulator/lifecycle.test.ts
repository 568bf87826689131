import { createServer, connect, type AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { startEmulator, type EmulatorOptions } from "../../../provider/emulator/index.js";
import { apiKey, call, set, startAcme, startEndpoint } from "./harness.js";

const refused = (text: string): unknown =>
  expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(text) });

describe("startEmulator", () => {
  test("without options listens on two free ports of 127.0.0.1 and has no workspace", async () => {
    const emulator = await startEmulator();
    onTestFinished(() => emulator.close());
    expect(emulator.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(emulator.botUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(emulator.botUrl).not.toBe(emulator.url);
    expect([...emulator.workspaces.keys()]).toEqual([]);
  });

  test.each<[object, string]>([
    [{ port: 70_000 }, "port"],
    [{ port: "8080" }, "port"],
    [{ host: "" }, "host"],
    [{ ports: 1 }, "ports"],
    [{ handshake: { encoding: "xml" } }, "handshake.encoding"],
    [{ handshake: { timeoutMs: 0 } }, "handshake.timeoutMs"],
    [{ beforeFirstSet: "empty" }, "beforeFirstSet"],
    [{ failedHandshake: "explodes" }, "failedHandshake"],
    [{ maskKey: "yes" }, "maskKey"],
    [{ verifyAfterMs: -1 }, "verifyAfterMs"],
    [{ workspaces: [{ name: "acme" }] }, "workspaces[0].apiKey"],
    [{ workspaces: [{ name: "a/b", apiKey }] }, "workspaces[0].name"],
    [{ workspaces: [{ name: "..", apiKey }] }, "workspaces[0].name"],
    [{ workspaces: [{ name: "a", apiKey, baseUrlQuery: "action=x" }] }, "workspaces[0].baseUrlQuery"],
    [{ workspaces: [{ name: "a", apiKey, baseUrlQuery: "?x=1" }] }, "workspaces[0].baseUrlQuery"],
  ])("refuses %j and names the option, without the API key", async (options, named) => {
    const failure = await startEmulator(options as EmulatorOptions).catch((error: unknown) => error);
    expect(failure).toEqual(refused(named));
    expect(String(failure)).not.toContain(apiKey);
  });

  test.each([
    [{ port: -1 }, "port: must be at least 0"],
    [{ botPort: "80" }, "botPort: must be a number, got a string"],
    [{ token: "" }, "token: must hold only letters, digits"],
    [{ pork: 1 }, "pork: is not a known field"],
    [{ maskKey: "yes" }, "maskKey: must be true or false, got a string"],
    [{ workspaces: [{ name: "acme", apiKey: "" }] }, "workspaces[0].apiKey: must not be empty"],
    [{ workspaces: [{ name: "acme" }] }, "workspaces[0].apiKey: is missing; must be a text"],
    [{ flowKey: "cookie" }, 'flowKey: must be one of "bearer", "raw", "body", "none"'],
  ])("says in plain words what is wrong with %j", async (options, text) => {
    await expect(startEmulator(options as EmulatorOptions)).rejects.toThrow(refused(text));
  });

  test("names every wrong option at once", async () => {
    const starting = startEmulator({ port: -1, maskKey: 1 } as unknown as EmulatorOptions);
    await expect(starting).rejects.toThrow(/port.*maskKey/);
  });

  test.each([
    [{ name: "acme", apiKey: "k" }, { name: "acme", apiKey: "l" }, '"acme"'],
    [
      { name: "acme", apiKey: "k", botCode: "b" },
      { name: "globex", apiKey: "k", botCode: "b" },
      'bot code "b"',
    ],
    [{ name: "acme", apiKey: "k-secret" }, { name: "globex", apiKey: "k-secret", path: "acme" }, "API key"],
  ])("refuses workspaces that clash: %j, %j", async (one, other, named) => {
    const failure = await startEmulator({ workspaces: [one, other] }).catch((error: unknown) => error);
    expect(failure).toEqual(refused(named));
    expect(String(failure)).not.toContain("k-secret");
  });

  test("refuses a port that is taken, and frees the one it had", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void holder.close());
    await expect.poll(() => holder.listening).toBe(true);
    const { port } = holder.address() as AddressInfo;
    const botPort = await freePort();
    await expect(startEmulator({ port, botPort })).rejects.toEqual(refused(`port ${port}`));
    const emulator = await startEmulator({ botPort });
    onTestFinished(() => emulator.close());
    expect(emulator.botUrl).toBe(`http://127.0.0.1:${botPort}`);
  });
});

describe("workspaces", () => {
  test("have the same bot code in the next run, and one of their own", async () => {
    const [first, second] = [await startAcme(), await startAcme()];
    const globex = first.emulator.addWorkspace({ name: "globex", apiKey });
    expect(first.acme.botCode).toBe(second.acme.botCode);
    expect(globex.botCode).not.toBe(first.acme.botCode);
    expect(first.acme.botUrl).toBe(`${first.emulator.botUrl}/api/apichat/${first.acme.botCode}`);
    expect(first.emulator.addWorkspace({ name: "initech", apiKey, botCode: "mine" }).botCode).toBe("mine");
  });

  test("are found by name, in the map and by the method that throws", async () => {
    const { emulator, acme } = await startAcme();
    expect(emulator.workspaces.get("acme")).toBe(acme);
    expect(() => emulator.workspace("globex")).toThrow(refused("globex"));
  });

  test("cannot rotate to an API key that reaches another", async () => {
    const { emulator, acme } = await startAcme();
    emulator.addWorkspace({ name: "globex", path: "acme", apiKey: "taken" });
    expect(() => (acme.apiKey = "taken")).toThrow(refused("globex"));
    expect(() => (acme.apiKey = "")).toThrow(refused("apiKey"));
    expect(acme.apiKey).toBe(apiKey);
  });
});

describe("the bot host", () => {
  test("answers 404 to unknown bots and 405 to other methods, and records them", async () => {
    const { emulator, acme } = await startAcme();
    expect((await send(`${emulator.botUrl}/api/apichat/nobody`)).status).toBe(404);
    expect((await send(`${emulator.botUrl}/`)).status).toBe(404);
    const wrongMethod = await send(acme.botUrl, "GET");
    expect(wrongMethod.status).toBe(405);
    expect(wrongMethod.headers.get("allow")).toBe("POST");
    expect(emulator.requests.at(-1)).toMatchObject({ interface: "bot", workspace: "acme", status: 405 });
  });

  test("does not answer for the registration interface, nor the other way round", async () => {
    const { emulator, acme } = await startAcme();
    const crossed = acme.baseUrl.replace(emulator.url, emulator.botUrl);
    expect((await fetch(`${crossed}?action=get-webhook`, { method: "POST" })).status).toBe(404);
    expect((await fetch(acme.botUrl.replace(emulator.botUrl, emulator.url), { method: "POST" })).status).toBe(
      404,
    );
  });
});

describe("close", () => {
  test("ends idle connections, calls that wait and handshakes under way, and may be called twice", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const idle = connect(Number(new URL(emulator.url).port), "127.0.0.1");
    const idleClosed = new Promise((resolve) => idle.once("close", resolve));
    emulator.injectFault({ operation: "get-webhook", fault: { delayMs: 600_000 } });
    const delayed = call(acme, "get-webhook").catch(String);
    const silent = await startEndpoint(() => undefined);
    const handshaking = set(globex, silent.url).catch(String);
    await expect.poll(() => silent.received).toHaveLength(1);
    await expect.poll(() => emulator.requests).toHaveLength(2);
    await emulator.close();
    expect(await delayed).toContain("fetch failed");
    expect(await handshaking).toContain("fetch failed");
    await idleClosed;
    await emulator.close();
    await expect(call(acme, "get-webhook")).rejects.toThrow(/fetch failed/);
    expect(globex.registration).toBeUndefined();
  });

  test("ends a delivery under way", async () => {
    const { emulator, acme } = await startAcme();
    const silent = await startEndpoint(() => undefined);
    acme.takeOver({ webhook_url: silent.url, webhook_verification_key: "k" });
    const delivering = acme.deliver({
      sender_id: "1",
      conv_id: 1,
      type: "text",
      message_type: "outgoing",
      private: false,
      text: "",
    });
    await expect.poll(() => silent.received).toHaveLength(1);
    await emulator.close();
    expect(await delivering).toMatchObject({ verdict: "failed" });
  });

  test("leaves nothing that keeps the process alive", async () => {
    const before = process.getActiveResourcesInfo().filter(isSocket).length;
    const emulator = await startEmulator({
      statusAfterSet: "pending",
      verifyAfterMs: 600_000,
      workspaces: [{ name: "acme", apiKey }],
    });
    const acme = emulator.workspace("acme");
    const endpoint = await startEndpoint();
    expect((await set(acme, endpoint.url)).status).toBe(200);
    await emulator.close();
    await endpoint.close();
    await expect
      .poll(() => process.getActiveResourcesInfo().filter(isSocket).length)
      .toBeLessThanOrEqual(before);
  });
});

function send(url: string, method = "POST"): Promise<Response> {
  return fetch(url, { method, body: method === "POST" ? "{}" : undefined });
}

function isSocket(resource: string): boolean {
  return resource === "TCPServerWrap" || resource === "TCPSocketWrap";
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await expect.poll(() => server.listening).toBe(true);
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
