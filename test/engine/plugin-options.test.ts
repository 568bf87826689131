import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { EngineEvent, PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginFolder, declareOnPlugin, PluginProvider } from "../support/plugin.ts";
import {
  callsOf,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type Outcome, type TestStack } from "../support/stack.ts";

const HOUR_MS = 3_600_000;
const PROVIDER_KEYS = { first: "ak-first-0123456789", second: "ak-second-0123456789" };
const ROTATED_KEY = "ak-rotated-0123456789";
const NEXT_KEY = "vk-next-0123456789";

/** The webhooks with an option, each with that of its name. The keys of two explicit providers come last. */
const withOption = ["ignored", "kept", "protected", "replaced", "retained", "slow", "uncalled"];
const names = ["adopted", "plain", ...withOption, ...Object.keys(PROVIDER_KEYS)];

const isWebhook = (urn: string | undefined, name: string): boolean =>
  urn?.endsWith(`::apichat:index:ApiChatWebhook::${name}`) ?? false;

/** What the engine shows under a webhook. */
const linesUnder = ({ events }: Outcome, name: string): string[] =>
  events.flatMap(({ diagnosticEvent: line }) => (line && isWebhook(line.urn, name) ? [line.message] : []));

/** The properties of a webhook that a command changes, and how. */
function changesOf({ events }: Outcome, name: string): Record<string, string> {
  const steps = events.flatMap(({ resourcePreEvent: step }: EngineEvent) => step?.metadata ?? []);
  const { detailedDiff } =
    steps.find(({ urn, op }) => isWebhook(urn, name) && op !== "delete-replaced") ?? {};
  return Object.fromEntries(
    Object.entries(detailedDiff ?? {}).map(([property, { diffKind }]) => [property, diffKind]),
  );
}

describe("the plugin does what the options of a resource ask for", () => {
  let scene: Scene;
  let stack: TestStack;

  const urlOf = (name: string): string => `${scene.endpoint.url}/${name}`;

  /** The program with the changes of a step; what is null is not declared. */
  const program =
    (changes: Record<string, Partial<Declaration> | null> = {}, apiKeys = PROVIDER_KEYS): PulumiFn =>
    async () => {
      const outputs: Record<string, unknown> = {};
      const declare = (workspace: string, options: CustomResourceOptions = {}) => {
        const change = changes[workspace];
        if (change === null) return undefined;
        const webhook = declareOnPlugin(scene, {
          workspace,
          ...change,
          args: { webhookUrl: urlOf(workspace), ...change?.args },
          options: { ...options, ...change?.options },
        });
        outputs[workspace] = { botUrl: webhook.botUrl, status: webhook.status };
        return webhook;
      };
      declare("adopted");
      declare("plain");
      if (changes["others"] === null) return outputs;
      declare("ignored", { ignoreChanges: ["webhookUrl"] });
      declare("kept", { additionalSecretOutputs: ["botUrl"] });
      declare("protected", { protect: true });
      const replaced = declare("replaced", { replaceOnChanges: ["webhookVerificationKey"] });
      declare("retained", { retainOnDelete: true });
      declare("slow", { customTimeouts: { create: "3s" } });
      declare("uncalled", replaced ? { deletedWith: replaced } : {});
      for (const [name, apiKey] of Object.entries(apiKeys)) {
        changes[name] = { args: { apiKey: undefined } };
        declare(name, { provider: new PluginProvider(name, { apiKey }) });
      }
      return outputs;
    };
  const renamed = {
    ignored: { name: "ignored-renamed" },
    kept: { name: "kept-renamed", options: { aliases: [{ name: "kept" }] } },
    replaced: { args: { webhookVerificationKey: NEXT_KEY } },
  };
  const afterRotation = { ...PROVIDER_KEYS, second: ROTATED_KEY };

  beforeAll(async () => {
    const keys: Record<string, string> = PROVIDER_KEYS;
    const workspaces = names.map((name) => ({ name, apiKey: keys[name] ?? API_KEY }));
    scene = await openScene([], { workspaces });
    const responder = createResponder({
      verificationKeys: [VERIFICATION_KEY, NEXT_KEY],
      onDelivery: () => {},
    });
    scene.endpoint.answerWith(toNodeListener(responder));
    scene.emulator.workspace("adopted").takeOver({
      webhook_url: urlOf("adopted"),
      webhook_verification_key: VERIFICATION_KEY,
    });
    stack = await createStack(scene.backend, {
      plugin: pluginFolder,
      program: program({ others: null }),
    });
  });

  test("the preview of a create knows all but a new bot's URL, and says under its resource what it adopts", async () => {
    const seen = await stack.preview({ diff: true });
    expect(linesUnder(seen, "adopted")).toEqual([expect.stringContaining(urlOf("adopted"))]);
    expect(linesUnder(seen, "plain")).toEqual([]);
    expect(seen.output).toMatch(
      new RegExp(`adopted: \\{\\s+botUrl: "${scene.emulator.workspace("adopted").botUrl}"`),
    );
    expect(seen.output).toMatch(/plain {2}: \{\s+botUrl: \[unknown\]\s+status: "verified"/);
    expect(writesSince(scene, 0)).toEqual([]);
  });

  test("customTimeouts end a create, and what it has registered is kept; additionalSecretOutputs are secret", async () => {
    // The look before set-webhook is answered, and the one after it is not.
    const fault = { delayMs: HOUR_MS };
    scene.emulator.injectFault({ operation: "get-webhook", workspace: "slow", every: 2, fault });
    stack.run(program());
    expect(await stack.fails("up", { continueOnError: true })).toMatch(/slow: .*3 s of customTimeouts/);
    scene.emulator.clearFaults();
    expect(registeredWorkspaces(scene).toSorted()).toEqual(names.toSorted());
    expect(await stack.resource("slow")).toMatchObject({
      id: scene.emulator.workspace("slow").botUrl,
      initErrors: [expect.stringContaining("slow: ")],
    });
    expect((await stack.resource("kept"))?.outputs["botUrl"]).toHaveProperty("ciphertext");
    expect((await stack.resource("plain"))?.outputs["botUrl"]).toBe(scene.emulator.workspace("plain").botUrl);
  });

  test("a preview names each changed property, secrets too; up finishes, updates and replaces what it has named", async () => {
    const before = scene.emulator.requests.length;
    scene.emulator.workspace("second").apiKey = ROTATED_KEY;
    const next = { webhookVerificationKey: NEXT_KEY };
    const changes = {
      plain: { args: { ...next, onExisting: "replace" } },
      ignored: { args: { webhookUrl: urlOf("not-ignored") } },
      replaced: { args: { ...next, webhookUrl: urlOf("moved") } },
    } as const;
    stack.run(program(changes, afterRotation));
    const seen = await stack.preview({ diff: true });
    expect(seen.output).toMatch(/~ webhookVerificationKey: \[secret\] => \[secret\]/);
    expect(seen.output).toMatch(/providers:apichat::second\]\s+~ apiKey: \[secret\] => \[secret\]/);
    expect(changesOf(seen, "plain")).toEqual({ onExisting: "add", webhookVerificationKey: "update" });
    expect(changesOf(seen, "replaced")).toEqual({
      webhookUrl: "update",
      webhookVerificationKey: "update-replace",
    });
    expect(linesUnder(seen, "replaced").join()).not.toContain("adopt");
    expect(writesSince(scene, before)).toEqual([]);

    expect((await stack.up()).changes).toEqual({ update: 4, replace: 1, same: 9 });
    expect(writesSince(scene, before)).toEqual(["set-webhook plain", "set-webhook replaced"]);
    expect(await stack.resource("slow")).not.toHaveProperty("initErrors");
    expect(callsOf(scene, "get-webhook", "second").at(-1)).toMatchObject({ status: 200 });
  });

  test("drift is shown by refresh and by the next preview, and up repairs it; a renamed webhook stays registered", async () => {
    const changedUrl = urlOf("changed-by-hand");
    scene.emulator.workspace("plain").change({ webhook_url: changedUrl });
    scene.emulator.workspace("adopted").removeRegistration();
    expect((await stack.refresh()).changes).toMatchObject({ update: 1, delete: 1 });
    const before = scene.emulator.requests.length;
    stack.run(program(renamed, afterRotation));
    const seen = await stack.preview({ diff: true });
    expect(seen.output).toMatch(new RegExp(`~ webhookUrl\\s*: "${changedUrl}" => "${urlOf("plain")}"`));
    expect(linesUnder(seen, "ignored-renamed")).toEqual([expect.stringContaining(urlOf("ignored"))]);
    await stack.up();
    expect(writesSince(scene, before)).toEqual([
      "set-webhook adopted",
      "set-webhook plain",
      "set-webhook replaced",
    ]);
    expect(await stack.resource("kept-renamed")).toBeDefined();
    expect(await stack.resource("ignored")).toBeUndefined();
  });

  test("--target changes one webhook alone, and --replace sets it again", async () => {
    const before = scene.emulator.requests.length;
    const changes = {
      ...renamed,
      adopted: { args: { onExisting: "replace" } },
      plain: { options: { deleteBeforeReplace: true } },
    } as const;
    stack.run(program(changes, afterRotation));
    const of = ["**ApiChatWebhook::plain"];
    expect((await stack.up({ target: of, replace: of })).changes).toMatchObject({ replace: 1 });
    expect(writesSince(scene, before)).toEqual(["set-webhook plain"]);
    expect((await stack.resource("adopted"))?.inputs).not.toHaveProperty("onExisting");
  });

  test("protect, retainOnDelete and deletedWith keep a webhook; destroy removes the others", async () => {
    stack.run(program({ ...renamed, protected: null }, afterRotation));
    expect(await stack.fails("preview")).toContain("protected");
    await stack.destroy({ excludeProtected: true });
    expect(registeredWorkspaces(scene)).toEqual(["protected", "retained", "uncalled"]);
    await expectNoSecrets(stack, [...Object.values(PROVIDER_KEYS), ROTATED_KEY, NEXT_KEY]);
  });
});
