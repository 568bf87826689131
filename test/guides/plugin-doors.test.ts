import type { EngineEvent, PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { ApiChatWebhook, VerificationKey, type ApiChatWebhookArgs } from "pulumi-apichat";
import { execa } from "execa";
import { beforeAll, describe, expect, test } from "vitest";
import { blocksOf, chapterOf, commandsIn, readPage } from "../support/pages.ts";
import { pluginFolder, PluginVerificationKey, PluginWebhook } from "../support/plugin.ts";
import { argsOf, expectNoSecrets, openScene, type Scene } from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

/** The documented commands: `pulumi state move`, which runs as written, and those that the Automation API runs. */
const { move: [moveInDocs = ""] = [], run: runInDocs } = Object.groupBy(
  commandsIn(
    blocksOf(chapterOf(readPage("docs/guide/languages.md"), "From the dynamic provider to the plugin"), "sh"),
  ),
  (command) => (command.startsWith("pulumi state move") ? "move" : "run"),
);

const dynamic = [ApiChatWebhook, VerificationKey] as const;
const plugin = [PluginWebhook, PluginVerificationKey] as const;

describe("a move between the dynamic provider and the plugin", () => {
  let scene: Scene;
  let stack: TestStack;
  let acme: ApiChatWebhookArgs;
  /** The stack's outputs, with the keys in plain text. */
  let keys: Record<string, unknown>;

  /** The program with the classes of one of the two providers. It is the same for both otherwise. */
  const program =
    ([Webhook, Key]: typeof dynamic | typeof plugin): PulumiFn =>
    async () => {
      const { botUrl } = new Webhook("acme", acme);
      const key = new Key("acme", { rotation: "2026-12", keep: 1 });
      return { botUrl, current: key.current, keys: key.keys };
    };

  /** Runs a command, and returns the calls that it made to the service. */
  const callsOf = async (command: () => Promise<unknown>): Promise<string[]> => {
    const before = scene.emulator.requests.length;
    await command();
    return scene.emulator.requests.slice(before).map(({ operation }) => String(operation));
  };
  beforeAll(async () => {
    scene = await openScene(["acme"]);
    acme = argsOf(scene, { workspace: "acme" });
    stack = await createStack(scene.backend, { plugin: pluginFolder, program: program(dynamic) });
    await stack.up();
    keys = await stack.secretOutputs();
  });

  test("uses the documented commands", () =>
    expect(runInDocs).toEqual([
      "pulumi preview --diff",
      "pulumi up --yes",
      "pulumi up --yes",
      "pulumi refresh --yes",
      "pulumi up --yes --stack other",
    ]));

  test("reads the webhook once on the way to the plugin, and writes nothing", async () => {
    stack.run(program(plugin));
    let events: EngineEvent[] = [];
    expect(await callsOf(async () => ({ events } = await stack.up()))).toEqual(["get-webhook"]);
    const changed = events.flatMap(({ resourcePreEvent: step }) =>
      Object.keys(step?.metadata.detailedDiff ?? {}),
    );
    expect(changed).toEqual(["__provider", "__provider"]);
  });

  test("reads the webhook once on the way back, and refresh then uses the dynamic provider again", async () => {
    stack.run(program(dynamic));
    expect(await callsOf(() => stack.up())).toEqual(["get-webhook"]);
    expect(await callsOf(() => stack.refresh())).toEqual(["get-webhook"]);
  });

  test("reads the webhook once on the way to the plugin in another stack, and keeps the keys", async () => {
    const other = await createStack(scene.backend, {
      name: "other",
      plugin: pluginFolder,
      program: program(plugin),
    });
    const { workDir: cwd, envVars: env } = stack.stack.workspace;
    await execa("sh", ["-ec", moveInDocs.replaceAll("::chat::", "::test::")], { cwd, env });
    stack = other;
    expect(await callsOf(() => stack.up())).toEqual(["get-webhook"]);
    expect(await stack.secretOutputs()).toEqual(keys);
    await expectNoSecrets(stack);
  });
});
