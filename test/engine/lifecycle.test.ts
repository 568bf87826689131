import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, type ApiChatWebhookArgs } from "pulumi-apichat";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { beforeAll, describe, expect, test } from "vitest";
import { Echo } from "../support/echo.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  argsOf,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const names = ["acme", "globex", "initech"];
const NEW_KEY = "the-key-after-the-rotation";

const echo = (args: ApiChatWebhookArgs): ApiChatWebhookArgs => {
  const echoed = Object.entries(args).map(([name, value]) => [
    name,
    new Echo(name, pulumi.secret(value as string)).value,
  ]);
  return Object.fromEntries(echoed);
};

describe("three webhooks from up to destroy", () => {
  let scene: Scene;
  let stack: TestStack;

  /** acme's inputs come from resources of the same up. Each bot URL is a stack output and the input of a resource. */
  const declare = (changes: Record<string, Partial<ApiChatWebhookArgs>>): void =>
    stack.run(async () => {
      const declared = names.map((workspace) => {
        const args = argsOf(scene, { workspace, args: changes[workspace] ?? {} });
        const { botUrl } = new ApiChatWebhook(workspace, workspace === "acme" ? echo(args) : args);
        void new Echo(`${workspace}-sender`, botUrl);
        return [workspace, botUrl];
      });
      return Object.fromEntries(declared) as Record<string, pulumi.Output<string>>;
    });

  /** The resources: the stack, three webhooks, a dependent of each, and the four inputs of acme. */
  const RESOURCES = 11;

  const requestCount = (): number => scene.emulator.requests.length;

  beforeAll(async () => {
    scene = await openScene(names);
    const verificationKeys = [VERIFICATION_KEY, NEW_KEY];
    scene.endpoint.answerWith(
      toNodeListener(createResponder({ verificationKeys, onDelivery: () => undefined })),
    );
    stack = await createStack(scene.backend, { name: "workspaces", program: async () => ({}) });
    declare({});
  });

  test("up registers each with its own URL and exports each bot URL", async () => {
    expect((await stack.up()).changes).toEqual({ create: RESOURCES });
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
    const found = await Promise.all(names.map((name) => stack.resource(name)));
    expect(found.map((resource) => resource?.id)).toEqual(
      names.map((name) => scene.emulator.workspace(name).botUrl),
    );
  });

  test("the preview of an update changes no dependent and no output: the bot URL stays known", async () => {
    const before = requestCount();
    declare({
      acme: { webhookUrl: `${scene.endpoint.url}/moved` },
      globex: { webhookVerificationKey: NEW_KEY },
      initech: { webhookUrl: `${scene.endpoint.url}/initech-moved` },
    });
    const { output, changes, events } = await stack.preview({ diff: true });
    expect(changes).toEqual({ update: 4, same: RESOURCES - 4 });
    expect(output).toMatch(/~ webhookUrl/);
    expect(output).not.toContain("-sender");
    const shown = events.map(({ resOutputsEvent }) => resOutputsEvent?.metadata);
    const ofStack = shown.find((metadata) => metadata?.type === "pulumi:pulumi:Stack");
    expect(ofStack?.new?.outputs).toEqual(await stack.outputs());
    expect(requestCount()).toBe(before);
  });

  test("a changed URL, and a changed key alone, are set in place; a bot on another host gets its new URL", async () => {
    scene.emulator.workspace("globex").change({ botBaseUrl: "http://127.0.0.2:4711" });
    const before = requestCount();
    await stack.up({ refresh: true });
    expect(writesSince(scene, before)).toEqual(names.map((name) => `set-webhook ${name}`));
    expect(names.map((name) => scene.emulator.workspace(name).registration)).toMatchObject([
      { webhook_url: `${scene.endpoint.url}/moved`, webhook_verification_key: VERIFICATION_KEY },
      { webhook_url: webhookUrlOf(scene, "globex"), webhook_verification_key: NEW_KEY },
      { webhook_url: `${scene.endpoint.url}/initech-moved`, webhook_verification_key: VERIFICATION_KEY },
    ]);
    expect((await stack.outputs())["globex"]).toBe(
      `http://127.0.0.2:4711/api/apichat/${scene.emulator.workspace("globex").botCode}`,
    );
  });

  test("destroy leaves every workspace empty, with one delete-webhook each", async () => {
    const before = requestCount();
    expect((await stack.destroy()).changes).toEqual({ delete: RESOURCES });
    expect(writesSince(scene, before)).toEqual(names.map((name) => `delete-webhook ${name}`));
    expect(registeredWorkspaces(scene)).toEqual([]);
    await expectNoSecrets(stack, [NEW_KEY]);
  });
});
