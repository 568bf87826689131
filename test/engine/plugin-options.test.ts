import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { beforeAll, expect, test } from "vitest";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginFolder, PluginWebhook } from "../support/plugin.ts";
import {
  argsOf,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const HOUR_MS = 3_600_000;
const NEXT_KEY = "vk-next-0123456789";

/** The webhooks that have a resource option, which `program` sets. */
const withOption = ["ignored", "kept", "protected", "replaced", "retained", "slow", "uncalled"];
const names = ["adopted", "plain", ...withOption];

let scene: Scene;
let stack: TestStack;

const urlOf = (name: string): string => `${scene.endpoint.url}/${name}`;

/** The program, with the changes that a test makes. */
const program = (changes: Record<string, Partial<Declaration>> = {}): PulumiFn => {
  const declare = (workspace: string, options: CustomResourceOptions = {}) => {
    const { name = workspace, ...change } = changes[workspace] ?? {};
    const args = argsOf(scene, { workspace, args: { webhookUrl: urlOf(workspace), ...change.args } });
    return new PluginWebhook(name, args, { ...options, ...change.options });
  };
  return async () => {
    declare("adopted");
    declare("plain");
    declare("ignored", { ignoreChanges: ["webhookUrl"] });
    declare("kept", { additionalSecretOutputs: ["botUrl"] });
    declare("protected", { protect: true });
    const replaced = declare("replaced", { replaceOnChanges: ["webhookVerificationKey"] });
    declare("retained", { retainOnDelete: true });
    declare("slow", { customTimeouts: { create: "3s" } });
    declare("uncalled", { deletedWith: replaced });
  };
};

beforeAll(async () => {
  // set-webhook responds before the webhook is verified, so each create reads again.
  scene = await openScene(names, { statusAfterSet: "pending", verifyAfterMs: 1 });
  scene.endpoint.accept(VERIFICATION_KEY, NEXT_KEY);
  scene.emulator.workspace("adopted").takeOver({
    webhook_url: urlOf("adopted"),
    webhook_verification_key: VERIFICATION_KEY,
  });
  stack = await createStack(scene.backend, { plugin: pluginFolder, program: program() });
});

test("a create that exceeds customTimeouts keeps its webhook, and additionalSecretOutputs are secret", async () => {
  // For "slow", every second get-webhook hangs: the one before set-webhook succeeds, the one after it does not.
  const fault = { delayMs: HOUR_MS };
  scene.emulator.injectFault({ operation: "get-webhook", workspace: "slow", every: 2, fault });
  expect(await stack.fails("up", { continueOnError: true })).toMatch(/slow: .*3 s of customTimeouts/);
  scene.emulator.clearFaults();
  expect(registeredWorkspaces(scene).toSorted()).toEqual(names.toSorted());
  expect(writesSince(scene, 0)).not.toContain("set-webhook adopted");
  expect(await stack.resource("slow")).toMatchObject({
    id: scene.emulator.workspace("slow").botUrl,
    initErrors: [expect.stringContaining("slow: ")],
  });
  expect((await stack.resource("kept"))?.outputs["botUrl"]).toHaveProperty("ciphertext");
  expect((await stack.resource("plain"))?.outputs["botUrl"]).toBe(scene.emulator.workspace("plain").botUrl);
});

test("up completes, updates, replaces, ignores and repairs webhooks, and names each changed property", async () => {
  const before = scene.emulator.requests.length;
  const changedUrl = urlOf("changed-by-hand");
  scene.emulator.workspace("plain").change({ webhook_url: changedUrl });
  const next = { webhookVerificationKey: NEXT_KEY };
  const changes: Record<string, Partial<Declaration>> = {
    plain: { args: { ...next, onExisting: "replace" } },
    ignored: { args: { webhookUrl: urlOf("not-ignored") } },
    kept: { name: "kept-renamed", options: { aliases: [{ name: "kept" }] } },
    replaced: { args: { ...next, webhookUrl: urlOf("moved") } },
  };
  stack.run(program(changes));
  const seen = await stack.up({ refresh: true, diff: true });
  expect(seen.output).toMatch(/~ webhookVerificationKey: \[secret\] => \[secret\]/);
  expect(seen.output).toMatch(new RegExp(`~ webhookUrl\\s*: "${changedUrl}" => "${urlOf("plain")}"`));
  expect(seen.output).toMatch(/\+ onExisting\s*: "replace"/);
  expect(seen.changes).toMatchObject({ replace: 1 });
  expect(writesSince(scene, before)).toEqual(["set-webhook plain", "set-webhook replaced"]);
  expect(await stack.resource("slow")).not.toHaveProperty("initErrors");
  expect(await stack.resource("kept-renamed")).toBeDefined();
});

test("destroy keeps a webhook with protect, retainOnDelete or deletedWith, and deletes the others", async () => {
  await stack.destroy({ excludeProtected: true });
  expect(registeredWorkspaces(scene)).toEqual(["protected", "retained", "uncalled"]);
  await expectNoSecrets(stack, [NEXT_KEY]);
});
