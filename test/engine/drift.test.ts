import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const names = ["bot-host", "everything", "key", "status", "untouched", "url", "url-with-query"];

describe("a registration that was changed behind our back is shown by refresh, named by preview and repaired by up", () => {
  let scene: Scene;
  let stack: TestStack;
  let originalUrl: string;

  beforeAll(async () => {
    scene = await openScene(names);
    // Without a query it is no secret, so the preview shows it.
    originalUrl = `${scene.endpoint.url}/url`;
    const program = declareWebhooks(
      scene,
      names.map((workspace) => ({ workspace, args: workspace === "url" ? { webhookUrl: originalUrl } : {} })),
    );
    stack = await createStack(scene.backend, { program });
    const { ok, output } = await stack.up();
    expect(ok, output).toBe(true);
    const workspace = (name: string) => scene.emulator.workspace(name);
    workspace("url").change({ webhook_url: `${scene.endpoint.url}/changed-by-hand` });
    workspace("url-with-query").change({ webhook_url: `${webhookUrlOf(scene, "changed")}&more=1` });
    workspace("key").change({ webhook_verification_key: "a-key-that-somebody-set-by-hand" });
    workspace("status").change({ webhook_status: "failed" });
    workspace("bot-host").change({ botBaseUrl: "http://127.0.0.2:4711" });
    workspace("everything").remove();
  });
  afterAll(() => scene.close());

  test("preview --refresh finds it and writes nothing", async () => {
    const before = scene.emulator.requests.length;
    const { ok } = await stack.preview({ refresh: true, expectNoChanges: true });
    expect(ok).toBe(false);
    expect(writesSince(scene, before)).toEqual([]);
  });

  test("refresh shows each change, and takes what is gone out of the state", async () => {
    const before = scene.emulator.requests.length;
    const { ok, output, changes } = await stack.refresh();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ same: 2, update: 5, delete: 1 });
    expect(output).toContain("key: webhookVerificationKey: the service holds another key");
    expect(writesSince(scene, before)).toEqual([]);
  });

  test("the next preview names each changed property, with both values where they are no secret", async () => {
    const { ok, output, changes } = await stack.preview({ diff: true });
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ same: 2, update: 5, create: 1 });
    expect(output).toMatch(
      new RegExp(`~ webhookUrl\\s*: "${scene.endpoint.url}/changed-by-hand" => "${originalUrl}"`),
    );
    expect(output).toMatch(/~ status\s*: "failed" => "verified"/);
    const secretOnes = [
      "key: webhookVerificationKey: the service holds another key; pulumi up sets ours again",
      `url-with-query: webhookUrl changes: ${scene.endpoint.url}/changed?token=***&more=*** => ${scene.endpoint.url}/url-with-query?token=***`,
    ];
    for (const line of secretOnes) expect(output).toContain(line);
    expect(output).not.toContain("untouched");
  });

  test("up repairs it, and records the bot's new host without set-webhook", async () => {
    const before = scene.emulator.requests.length;
    const { ok, output, changes } = await stack.up();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ same: 2, update: 5, create: 1 });
    expect(writesSince(scene, before)).toEqual([
      "set-webhook everything",
      "set-webhook key",
      "set-webhook status",
      "set-webhook url",
      "set-webhook url-with-query",
    ]);
    expect(registeredWorkspaces(scene)).toEqual(names);
    for (const name of names) {
      expect(scene.emulator.workspace(name).registration).toMatchObject({
        webhook_url: name === "url" ? originalUrl : webhookUrlOf(scene, name),
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
    }
    expect(await stack.outputs()).toMatchObject({
      "bot-host": expect.stringMatching(/^http:\/\/127\.0\.0\.2:4711\//),
    });
  });

  test("after that nothing differs", async () => {
    const { ok, output } = await stack.preview({ refresh: true, expectNoChanges: true });
    expect(ok, output).toBe(true);
  });

  test("no secret is in the output or in the state", () =>
    expectNoSecrets([stack], ["a-key-that-somebody-set-by-hand"]));
});

describe("a service that masks keys and writes URLs in its own way", () => {
  let scene: Scene;
  let stack: TestStack;
  let before = 0;

  beforeAll(async () => {
    scene = await openScene(["acme", "globex"], { maskKey: true, normalizeUrl: true });
    const webhookUrl = `${scene.endpoint.url.replace("http:", "HTTP:")}/hook/`;
    const program = declareWebhooks(scene, [
      { workspace: "acme", args: { webhookUrl } },
      { workspace: "globex", args: { webhookUrl } },
    ]);
    stack = await createStack(scene.backend, { program });
    const { ok, output } = await stack.up();
    expect(ok, output).toBe(true);
    before = scene.emulator.requests.length;
  });
  afterAll(() => scene.close());

  test("causes no drift", async () => {
    const refresh = await stack.refresh({ expectNoChanges: true });
    expect(refresh.ok, refresh.output).toBe(true);
    const up = await stack.up({ expectNoChanges: true });
    expect(up.ok, up.output).toBe(true);
    expect(writesSince(scene, before)).toEqual([]);
  });

  test("does not hide a key and a URL that really changed", async () => {
    scene.emulator.workspace("acme").change({ webhook_verification_key: "another-key-set-by-hand" });
    scene.emulator.workspace("globex").change({ webhook_url: `${scene.endpoint.url}/another/` });
    const refresh = await stack.refresh();
    expect(refresh.changes, refresh.output).toEqual({ same: 1, update: 2 });
    const up = await stack.up();
    expect(up.ok, up.output).toBe(true);
    expect(writesSince(scene, before)).toEqual(["set-webhook acme", "set-webhook globex"]);
    expect(scene.emulator.workspace("acme").registration?.webhook_verification_key).toBe(VERIFICATION_KEY);
    expect(scene.emulator.workspace("globex").registration?.webhook_url).toMatch(/\/hook\/$/);
  });

  test("no secret is in the output or in the state", () => expectNoSecrets([stack]));
});
