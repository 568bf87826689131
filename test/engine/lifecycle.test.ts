import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const names = ["acme", "globex", "initech"];

describe("up registers the webhooks of three workspaces, and destroy removes them", () => {
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene(names);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, names) });
  });
  afterAll(() => scene.close());

  test("up registers each with its own URL and exports each bot URL", async () => {
    const { ok, output, changes } = await stack.up();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ create: 4 });
    expect(writesSince(scene, 0)).toEqual(names.map((name) => `set-webhook ${name}`));
    const outputs = await stack.outputs();
    for (const name of names) {
      const { registration, botUrl, handshakes } = scene.emulator.workspace(name);
      expect(registration).toEqual({
        webhook_url: webhookUrlOf(scene, name),
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
        bot_url: botUrl,
      });
      expect(handshakes).toMatchObject([{ verdict: "passed" }]);
      expect(outputs[name]).toBe(botUrl);
    }
  });

  test("a second up, a preview and a refresh find nothing to change and write nothing", async () => {
    const before = scene.emulator.requests.length;
    const second = await stack.up();
    expect(second.changes, second.output).toEqual({ same: 4 });
    const preview = await stack.preview({ expectNoChanges: true });
    expect(preview.ok, preview.output).toBe(true);
    expect(scene.emulator.requests.length).toBe(before);
    const refresh = await stack.refresh({ expectNoChanges: true });
    expect(refresh.ok, refresh.output).toBe(true);
    expect(refresh.changes).toEqual({ same: 4 });
    const looks = scene.emulator.requests.slice(before);
    expect(looks.map(({ action, workspace }) => `${action} ${workspace}`).toSorted()).toEqual(
      names.map((name) => `get-webhook ${name}`),
    );
    await expectNoSecrets([stack]);
  });

  test("destroy leaves every workspace empty, with one delete-webhook each", async () => {
    const before = scene.emulator.requests.length;
    const { ok, output, changes } = await stack.destroy();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ delete: 4 });
    expect(writesSince(scene, before)).toEqual(names.map((name) => `delete-webhook ${name}`));
    expect(registeredWorkspaces(scene)).toEqual([]);
  });

  test("no secret is in the output or in the state", () => expectNoSecrets([stack]));
});
