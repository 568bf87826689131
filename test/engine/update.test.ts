import { ApiChatWebhook, type ApiChatWebhookArgs } from "pulumi-apichat";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Echo } from "../support/echo.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  argsOf,
  expectNoSecrets,
  openScene,
  webhookUrlOf,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";
import { findResource } from "../support/state.ts";

const names = ["acme", "globex", "initech"];
const NEW_KEY = "the-key-after-the-rotation";

describe("a change of what the program says is an update in place", () => {
  let scene: Scene;
  let stack: TestStack;

  /** Three webhooks, each with a resource that depends on its bot URL; each bot URL is a stack output. */
  const declare = (changes: Record<string, Partial<ApiChatWebhookArgs>>): void =>
    stack.run(async () => {
      const declared = names.map((workspace) => {
        const args = changes[workspace] ?? {};
        const webhook = new ApiChatWebhook(workspace, argsOf(scene, { workspace, args }));
        const sender = new Echo(`${workspace}-sender`, webhook.botUrl);
        return [workspace, { botUrl: webhook.botUrl, sentTo: sender.value }] as const;
      });
      return Object.fromEntries(declared);
    });

  const expectSameIds = async (): Promise<void> => {
    const found = await Promise.all(names.map((name) => findResource(stack, name)));
    expect(found.map((resource) => resource?.id)).toEqual(
      names.map((name) => scene.emulator.workspace(name).botUrl),
    );
  };

  beforeAll(async () => {
    scene = await openScene(names);
    const responder = createResponder({
      verificationKeys: [VERIFICATION_KEY, NEW_KEY],
      onDelivery: () => undefined,
    });
    scene.endpoint.answerWith(toNodeListener(responder));
    stack = await createStack(scene.backend, { program: async () => ({}) });
    declare({});
    const { ok, output } = await stack.up();
    expect(ok, output).toBe(true);
    await expectSameIds();
  });
  afterAll(() => scene.close());

  const changedUrlAndKey = (): Record<string, Partial<ApiChatWebhookArgs>> => ({
    acme: { webhookUrl: `${scene.endpoint.url}/moved` },
    globex: { webhookVerificationKey: NEW_KEY },
  });

  test("its preview changes no dependent and no stack output, because the bot URL stays known", async () => {
    const before = scene.emulator.requests.length;
    declare(changedUrlAndKey());
    const { ok, output, changes } = await stack.preview({ diff: true });
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ update: 2, same: 5 });
    expect(output).toMatch(/~ webhookUrl/);
    expect(output).toContain("globex: webhookVerificationKey changes");
    expect(output).not.toContain("Echo");
    expect(output).not.toContain("--outputs:--");
    expect(scene.emulator.requests.length).toBe(before);
  });

  test("a changed URL, and a changed key alone, are pushed under the same id", async () => {
    const before = scene.emulator.requests.length;
    const { ok, output, changes } = await stack.up();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ update: 2, same: 5 });
    expect(writesSince(scene, before)).toEqual(["set-webhook acme", "set-webhook globex"]);
    const registrations = names.map((name) => scene.emulator.workspace(name).registration);
    expect(registrations).toMatchObject([
      { webhook_url: `${scene.endpoint.url}/moved`, webhook_verification_key: VERIFICATION_KEY },
      { webhook_url: webhookUrlOf(scene, "globex"), webhook_verification_key: NEW_KEY },
      { webhook_url: webhookUrlOf(scene, "initech"), webhook_verification_key: VERIFICATION_KEY },
    ]);
    await expectSameIds();
  });

  test("a change of onExisting, preflight or timeouts is recorded without set-webhook and without a handshake", async () => {
    const before = scene.emulator.requests.length;
    const handshakesBefore = scene.endpoint.requests.length;
    const { acme, globex } = changedUrlAndKey();
    declare({
      acme: { ...acme, onExisting: "replace" },
      globex: { ...globex, preflight: "warn" },
      initech: { timeouts: { requestSeconds: 20, readySeconds: 5 } },
    });
    const { ok, output, changes } = await stack.up();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ update: 3, same: 4 });
    expect(writesSince(scene, before)).toEqual([]);
    expect(scene.endpoint.requests.length).toBe(handshakesBefore);
    await expectSameIds();
    const recorded = await Promise.all(names.map((name) => findResource(stack, name)));
    expect(recorded).toMatchObject([
      { outputs: { onExisting: "replace" } },
      { outputs: { preflight: "warn" } },
      { outputs: { timeouts: { requestSeconds: 20, readySeconds: 5 } } },
    ]);
  });

  test("no secret is in the output or in the state", () => expectNoSecrets([stack], [NEW_KEY]));
});
