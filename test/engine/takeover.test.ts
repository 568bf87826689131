import { beforeAll, describe, expect, test } from "vitest";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const FOREIGN_KEY = "the-key-of-somebody-else";
const foreign = {
  webhook_url: "https://somebody-else.example/hook",
  webhook_verification_key: FOREIGN_KEY,
};
const names = ["equal", "gone", "other-key", "ours", "taken"];

describe("one receiver for all workspaces: create adopts what has its URL, and takes over on request only", () => {
  let scene: Scene;
  let stack: TestStack;
  let lost: TestStack;
  let webhookUrl: string;

  const declare = (taken: Declaration["args"] = {}) =>
    declareWebhooks(
      scene,
      names.map((workspace) => ({
        workspace,
        args: { webhookUrl, ...(workspace === "taken" ? taken : {}) },
      })),
    );
  const registration = (name: string) => scene.emulator.workspace(name).registration;
  const requestCount = (): number => scene.emulator.requests.length;

  beforeAll(async () => {
    scene = await openScene([...names, "not-declared"]);
    webhookUrl = `${scene.endpoint.url}/receiver`;
    scene.emulator.workspace("taken").takeOver(foreign);
    for (const name of ["equal", "other-key", "not-declared"]) {
      const webhook_verification_key = name === "other-key" ? FOREIGN_KEY : VERIFICATION_KEY;
      scene.emulator.workspace(name).takeOver({ webhook_url: webhookUrl, webhook_verification_key });
    }
    stack = await createStack(scene.backend, {
      program: declareWebhooks(scene, [{ workspace: "taken", args: { webhookUrl } }]),
    });
  });

  test("somebody else's registration is a conflict that names its URL, and nothing is written", async () => {
    expect(await stack.fails("up")).toContain(foreign.webhook_url);
    expect(writesSince(scene, 0)).toEqual([]);
    expect(registration("taken")).toMatchObject(foreign);
  });

  test('onExisting: "replace" takes it over, and the same URL is adopted', async () => {
    stack.run(declare({ onExisting: "replace" }));
    await stack.up();
    expect(writesSince(scene, 0)).toEqual(
      ["gone", "other-key", "ours", "taken"].map((name) => `set-webhook ${name}`),
    );
    for (const name of names) {
      expect(registration(name)).toMatchObject({
        webhook_url: webhookUrl,
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
    }
    expect(scene.emulator.workspace("equal").handshakes, "nothing to verify").toEqual([]);
    expect(scene.emulator.workspace("other-key").handshakes).toMatchObject([{ verdict: "passed" }]);
  });

  test("a stack whose state is lost adopts all of it, without a write or a handshake", async () => {
    const before = requestCount();
    const handshakesBefore = scene.endpoint.requests.length;
    lost = await createStack(scene.backend, { name: "lost", program: declare() });
    expect((await lost.up()).changes).toEqual({ create: names.length + 1 });
    expect(writesSince(scene, before)).toEqual([]);
    expect(scene.endpoint.requests.length).toBe(handshakesBefore);
    expect(await lost.outputs()).toEqual(await stack.outputs());
  });

  test("what somebody else has taken over since is a conflict, also after a refresh; what is gone is set again", async () => {
    scene.emulator.workspace("taken").takeOver(foreign);
    scene.emulator.workspace("gone").removeRegistration();
    stack.run(declare());
    const before = requestCount();
    const output = await stack.fails("up", { refresh: true, continueOnError: true });
    expect(output).toContain(foreign.webhook_url);
    expect(writesSince(scene, before)).toEqual(["set-webhook gone"]);
    expect(registration("taken")).toMatchObject(foreign);
  });

  test("destroy leaves it alone, with a warning; what is gone already is no failure", async () => {
    scene.emulator.workspace("gone").removeRegistration();
    const before = requestCount();
    const { output, changes } = await stack.destroy();
    expect(changes).toEqual({ delete: names.length + 1 });
    expect(output).toMatch(new RegExp(`taken: warning: .*${foreign.webhook_url}`));
    expect(output).not.toContain("gone: warning");
    expect(writesSince(scene, before)).toEqual(
      ["equal", "other-key", "ours"].map((name) => `delete-webhook ${name}`),
    );
    expect(registeredWorkspaces(scene)).toEqual(["taken", "not-declared"]);
    expect(registration("taken")).toMatchObject(foreign);
    for (const one of [stack, lost]) await expectNoSecrets(one, [FOREIGN_KEY]);
  });
});
