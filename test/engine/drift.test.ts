import { beforeAll, describe, expect, test } from "vitest";
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
    await stack.up();
    const workspace = (name: string) => scene.emulator.workspace(name);
    workspace("url").change({ webhook_url: `${scene.endpoint.url}/changed-by-hand` });
    workspace("url-with-query").change({ webhook_url: `${webhookUrlOf(scene, "changed")}&more=1` });
    workspace("key").change({ webhook_verification_key: "a-key-that-somebody-set-by-hand" });
    workspace("status").change({ webhook_status: "failed" });
    workspace("bot-host").change({ botBaseUrl: "http://127.0.0.2:4711" });
    workspace("everything").removeRegistration();
  });

  test("preview --refresh finds it and writes nothing", async () => {
    const before = scene.emulator.requests.length;
    await stack.fails("preview", { refresh: true, expectNoChanges: true });
    expect(writesSince(scene, before)).toEqual([]);
  });

  test("refresh shows each change, and takes what is gone out of the state", async () => {
    const before = scene.emulator.requests.length;
    const { output, changes } = await stack.refresh();
    expect(changes).toEqual({ same: 2, update: 5, delete: 1 });
    expect(output).toContain("key: webhookVerificationKey: ");
    expect(writesSince(scene, before)).toEqual([]);
  });

  test("the next preview names each changed property, with both values where they are no secret", async () => {
    const { output, changes } = await stack.preview({ diff: true });
    expect(changes).toEqual({ same: 2, update: 5, create: 1 });
    expect(output).toMatch(
      new RegExp(`~ webhookUrl\\s*: "${scene.endpoint.url}/changed-by-hand" => "${originalUrl}"`),
    );
    expect(output).toMatch(/~ status\s*: "failed" => "verified"/);
    // The preview hides what is secret, so a line of its own names it.
    expect(output).toContain("key: webhookVerificationKey: ");
    const [before, after] = ["changed?token=***&more=***", "url-with-query?token=***"];
    expect(output).toContain(`${scene.endpoint.url}/${before} => ${scene.endpoint.url}/${after}`);
    expect(output).not.toContain("untouched");
  });

  test("up repairs it, and records the bot's new host without set-webhook", async () => {
    const before = scene.emulator.requests.length;
    expect((await stack.up()).changes).toEqual({ same: 2, update: 5, create: 1 });
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
    await expectNoSecrets(stack, ["a-key-that-somebody-set-by-hand"]);
  });
});
