import { describe, expect, test } from "vitest";
import type { WorkspaceChange } from "../../../provider/emulator/index.js";
import {
  apiKey,
  call,
  emptyConfiguration,
  refused,
  set,
  startAcme,
  startEndpoint,
  startScene,
  startSilent,
} from "./harness.js";

describe("a workspace", () => {
  test("has the same bot code and flow API key in the next run, and its own of both", async () => {
    const [{ emulator, acme }, next] = [await startSilent(), await startSilent()];
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const { botCode, flowApiKey } = acme;
    expect(next.acme).toMatchObject({ botCode, flowApiKey });
    expect(globex.botCode).not.toBe(botCode);
    expect(globex.flowApiKey).not.toBe(flowApiKey);
    expect(acme.botUrl).toBe(`${emulator.botUrl}/api/apichat/${botCode}`);
    expect(emulator.addWorkspace({ name: "initech", apiKey, botCode: "mine" }).botCode).toBe("mine");
  });

  test("is found by name, in the map and by the method that throws", async () => {
    const { emulator, acme } = await startAcme();
    expect(emulator.workspaces.get("acme")).toBe(acme);
    expect(() => emulator.workspace("globex")).toThrow(refused("globex"));
  });
});

describe("change", () => {
  test("changes any field behind the caller's back, without a handshake", async () => {
    const { acme } = await startScene();
    const change = {
      webhook_url: "https://other.example/hook",
      webhook_verification_key: "other-key",
      webhook_status: "",
    };
    for (const [field, value] of Object.entries(change)) acme.change({ [field]: value });
    const data = { ...change, bot_url: acme.botUrl };
    expect((await call(acme, "get-webhook")).body).toEqual({ status: "ok", data });
    expect(acme.registration).toEqual(data);
    expect(acme.handshakes).toHaveLength(1);
  });

  test("gives the workspace another bot, or the same bot another host", async () => {
    const { acme, emulator } = await startScene();
    acme.change({ botCode: "another-bot" });
    expect(acme.registration?.bot_url).toBe(`${emulator.botUrl}/api/apichat/another-bot`);
    acme.change({ botBaseUrl: "http://127.0.0.2:9" });
    expect(acme.registration?.bot_url).toBe("http://127.0.0.2:9/api/apichat/another-bot");
    expect(acme.botCode).toBe("another-bot");
  });

  test("makes the address reach another workspace, and gives it back", async () => {
    const { acme, emulator } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey: "key-of-globex" });
    const { url } = await startEndpoint();
    await set(globex, url);
    acme.change({ owner: "globex" });
    expect((await call(acme, "get-webhook")).body).toMatchObject({ data: { bot_url: globex.botUrl } });
    expect((await call(acme, "delete-webhook")).status).toBe(200);
    expect(globex.registration).toBeUndefined();
    acme.change({ owner: "acme" });
    await set(acme, url);
    expect(acme.registration).toBeDefined();
  });

  test.each<[object, string]>([
    [{ webhook_status: "verified" }, "takeOver"],
    [{ owner: "nobody" }, "nobody"],
    [{ botCode: "bot-of-globex" }, "globex"],
    [{ botCode: "a/b" }, "botCode"],
    [{ botBaseUrl: "nowhere" }, "botBaseUrl"],
    [{ status: "x" }, "status"],
    [{ apiKey: "taken" }, "globex"],
    [{ apiKey: "" }, "apiKey"],
    [{ flowApiKey: "ção" }, "flowApiKey"],
    [{ flowApiKey: "" }, "flowApiKey"],
    [{ mayManageFlow: "yes" }, "mayManageFlow"],
    [{ flow: "nobody" }, "flow"],
  ])("is made whole or not at all: %j is refused", async (change, named) => {
    const { acme, emulator } = await startAcme();
    emulator.addWorkspace({ name: "globex", path: "acme", apiKey: "taken", botCode: "bot-of-globex" });
    const before = { ...acme };
    const whole: WorkspaceChange = { apiKey: "another-key", mayManageFlow: false, ...change };
    expect(() => acme.change(whole)).toThrow(refused(named));
    expect({ ...acme }).toEqual(before);
  });
});

test("takeOver registers somebody else's endpoint, and remove empties the registration", async () => {
  const { acme } = await startAcme();
  const theirs = { webhook_url: "https://other.example/hook", webhook_verification_key: "their-key" };
  expect(() => acme.takeOver({ ...theirs, webhook_url: "" })).toThrow(refused("webhook_url"));
  acme.takeOver(theirs);
  const data = { ...theirs, webhook_status: "verified", bot_url: acme.botUrl };
  expect((await call(acme, "get-webhook")).body).toEqual({ status: "ok", data });
  expect(acme.handshakes).toEqual([]);
  acme.remove();
  expect(acme.registration).toBeUndefined();
  expect((await call(acme, "get-webhook")).body).toEqual({ status: "ok", data: emptyConfiguration });
});
