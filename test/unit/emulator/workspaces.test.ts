import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import {
  startEmulator,
  type EmulatorOptions,
  type WorkspaceChange,
} from "../../../provider/emulator/index.js";
import {
  apiKey,
  call,
  control,
  refused,
  sendTo,
  set,
  startAcme,
  startEndpoint,
  startScene,
  startSilent,
  text,
} from "./harness.js";

const withWorkspace = (options: object) => ({ workspaces: [{ name: "acme", apiKey, ...options }] });

test.each<[object, string]>([
  [{ pork: 1 }, "pork: is not a known field"],
  [{ handshake: { encoding: "xml" } }, "handshake.encoding"],
  [{ token: "" }, "token: must contain only letters, digits"],
  [withWorkspace({ apiKey: undefined }), "workspaces[0].apiKey: is missing; must be a string"],
  [withWorkspace({ baseUrlQuery: "action=x" }), "workspaces[0].baseUrlQuery"],
  [{ workspaces: [...withWorkspace({}).workspaces, { name: "acme", apiKey: "l" }] }, '"acme"'],
  [{ workspaces: ["acme", "globex"].map((name) => ({ name, apiKey, botCode: "b" })) }, 'bot code "b"'],
  [{ workspaces: ["acme", "globex"].map((name) => ({ name, apiKey, path: "one" })) }, "API key"],
])("startEmulator rejects %j, and names the problem but not the API key", async (options, named) => {
  const failure = await startEmulator(options as EmulatorOptions).catch((error: unknown) => error);
  expect(failure).toEqual(refused(named));
  expect(String(failure)).not.toContain(apiKey);
});

test("close ends idle connections, waiting calls and handshakes in progress, and may be called twice", async () => {
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

test("removeWorkspace removes the workspace's address and bot, so its name and bot code can be reused", async () => {
  const { emulator, acme } = await startSilent();
  const { botUrl, botCode } = acme;
  emulator.removeWorkspace("acme");
  expect([...emulator.workspaces.keys()]).toEqual([]);
  expect(() => emulator.removeWorkspace("acme")).toThrow(refused("acme"));
  expect((await call(acme, "get-webhook")).status).toBe(404);
  expect((await sendTo(acme, text)).status).toBe(404);
  const again = emulator.addWorkspace({ name: "acme", apiKey });
  expect(again).toMatchObject({ botUrl, botCode, conversations: [] });
  expect((await sendTo(again, text)).status).toBe(200);
});

describe("change", () => {
  test("sets any field without a handshake, as if somebody else had changed it", async () => {
    const { emulator, acme } = await startScene();
    const change = {
      webhook_url: "https://other.example/hook",
      webhook_verification_key: "other-key",
      webhook_status: "",
    };
    for (const [field, value] of Object.entries(change)) acme.change({ [field]: value });
    acme.change({ botCode: "another-bot" });
    const data = { ...change, bot_url: `${emulator.botUrl}/api/apichat/another-bot` };
    expect((await call(acme, "get-webhook")).body).toEqual({ status: "ok", data });
    expect(acme.registration).toEqual(data);
    expect(acme.handshakes).toHaveLength(1);
    acme.change({ botBaseUrl: "http://127.0.0.2:9" });
    expect(acme.registration?.bot_url).toBe("http://127.0.0.2:9/api/apichat/another-bot");
  });

  test('restores the last flow function if flow is "custom"', async () => {
    const { emulator, acme } = await startAcme({ flow: () => [] });
    const { flow } = acme;
    acme.change({ flow: "echo" });
    const shown = await control(emulator, "PATCH /_emulator/workspaces/acme", { flow: "custom" });
    expect(shown.body).toMatchObject({ flow: "custom", flows: ["echo", "menu", "silent", "custom"] });
    expect(acme.flow).toBe(flow);
  });

  test.each<[object, string]>([
    [{ webhook_status: "verified" }, "takeOver"],
    [{ routeTo: "nobody" }, "nobody"],
    [{ botCode: "bot-of-globex" }, "globex"],
    [{ botBaseUrl: "nowhere" }, "botBaseUrl"],
    [{ apiKey: "taken" }, "globex"],
    [{ flowApiKey: "ção" }, "flowApiKey"],
  ])("changes nothing if one field is rejected: %j", async (change, named) => {
    const { acme, emulator } = await startAcme();
    emulator.addWorkspace({ name: "globex", path: "acme", apiKey: "taken", botCode: "bot-of-globex" });
    const before = { ...acme };
    const whole: WorkspaceChange = { apiKey: "another-key", mayManageFlow: false, ...change };
    expect(() => acme.change(whole)).toThrow(refused(named));
    expect({ ...acme }).toEqual(before);
  });
});
