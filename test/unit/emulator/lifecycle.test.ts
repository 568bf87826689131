import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { startEmulator, type EmulatorOptions } from "../../../provider/emulator/index.js";
import { freePort, startTcpServer } from "../../support/http.js";
import {
  apiKey,
  call,
  outbound,
  post,
  refused,
  set,
  start,
  startAcme,
  startEndpoint,
  startScene,
} from "./harness.js";

const withWorkspace = (options: object) => ({ workspaces: [{ name: "acme", apiKey, ...options }] });

describe("startEmulator", () => {
  test("without options listens on two free ports of 127.0.0.1 and has no workspace", async () => {
    const emulator = await start();
    expect(emulator.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(emulator.botUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(emulator.botUrl).not.toBe(emulator.url);
    expect([...emulator.workspaces.keys()]).toEqual([]);
  });

  test.each<[object, string]>([
    [{ port: 70_000 }, "port"],
    [{ port: -1 }, "port: must be at least 0"],
    [{ botPort: "80" }, "botPort: must be a number, got a string"],
    [{ host: "" }, "host"],
    [{ token: "" }, "token: must hold only letters, digits"],
    [{ pork: 1 }, "pork: is not a known field"],
    [{ handshake: { encoding: "xml" } }, "handshake.encoding"],
    [{ handshake: { timeoutMs: 0 } }, "handshake.timeoutMs"],
    [{ flowKey: "cookie" }, 'flowKey: must be one of "bearer", "raw", "body", "none"'],
    [{ maskKey: "yes" }, "maskKey: must be true or false, got a string"],
    [{ verifyAfterMs: -1, port: -1 }, "must be at least 0; verifyAfterMs: "],
    [withWorkspace({ apiKey: undefined }), "workspaces[0].apiKey: is missing; must be a text"],
    [withWorkspace({ apiKey: "" }), "workspaces[0].apiKey: must not be empty"],
    [withWorkspace({ name: "a/b" }), "workspaces[0].name"],
    [withWorkspace({ name: ".." }), "workspaces[0].name"],
    [withWorkspace({ baseUrlQuery: "action=x" }), "workspaces[0].baseUrlQuery"],
    [withWorkspace({ baseUrlQuery: "?x=1" }), "workspaces[0].baseUrlQuery"],
  ])("refuses %j and names the option, without the API key", async (options, named) => {
    const failure = await startEmulator(options as EmulatorOptions).catch((error: unknown) => error);
    expect(failure).toEqual(refused(named));
    expect(String(failure)).not.toContain(apiKey);
  });

  test.each([
    [{ name: "acme", apiKey }, { name: "acme", apiKey: "l" }, '"acme"'],
    [{ name: "acme", apiKey, botCode: "b" }, { name: "globex", apiKey, botCode: "b" }, 'bot code "b"'],
    [{ name: "acme", apiKey }, { name: "globex", apiKey, path: "acme" }, "API key"],
  ])("refuses workspaces that clash: %j, %j", async (one, other, named) => {
    const failure = await startEmulator({ workspaces: [one, other] }).catch((error: unknown) => error);
    expect(failure).toEqual(refused(named));
    expect(String(failure)).not.toContain(apiKey);
  });

  test("refuses a port that is taken, and frees the one it had", async () => {
    const { port } = await startTcpServer();
    const botPort = await freePort();
    await expect(startEmulator({ port, botPort })).rejects.toEqual(refused(`port ${port}`));
    expect((await start({ botPort })).botUrl).toBe(`http://127.0.0.1:${botPort}`);
  });
});

test("neither host answers for the other", async () => {
  const { emulator, acme } = await startAcme();
  const crossed = acme.baseUrl.replace(emulator.url, emulator.botUrl);
  expect((await post(`${crossed}?action=get-webhook`, "{}")).status).toBe(404);
  expect((await post(acme.botUrl.replace(emulator.botUrl, emulator.url), "{}")).status).toBe(404);
});

const countSockets = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap" || name === "TCPSocketWrap")
    .length;

describe("close", () => {
  test("ends idle connections, calls that wait and handshakes in progress, and may be called twice", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const idleClosed = once(connect(Number(new URL(emulator.url).port), "127.0.0.1"), "close");
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

  test("ends a delivery in progress", async () => {
    const { emulator, acme, deliveries } = await startScene({}, () => undefined);
    const delivering = acme.deliver(outbound("hello"));
    await expect.poll(deliveries).toHaveLength(1);
    await emulator.close();
    expect(await delivering).toMatchObject({ verdict: "failed" });
  });

  test("leaves nothing that keeps the process alive", async () => {
    const before = countSockets();
    const { emulator, endpoint } = await startScene({ statusAfterSet: "pending", verifyAfterMs: 600_000 });
    await emulator.close();
    await endpoint.close();
    await expect.poll(countSockets).toBeLessThanOrEqual(before);
  });
});
