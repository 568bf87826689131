import { readFile } from "node:fs/promises";
import type { Alias } from "@pulumi/pulumi";
import type { EngineEvent, PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { ApiChatWebhook, VerificationKey } from "pulumi-apichat";
import { execa } from "execa";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { blocksOf, commandsIn, readPage } from "../support/pages.ts";
import { pluginFolder, PluginProvider, PluginVerificationKey, PluginWebhook } from "../support/plugin.ts";
import {
  argsOf,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

type Values = Record<string, unknown>;
type AliasOf = (type: "ApiChatWebhook" | "VerificationKey") => Alias[];

const SOURCE = "pulumi-nodejs:dynamic/apichat:";
/** What the schema says of every SDK. */
const fromDynamic: AliasOf = (type) => [{ type: `${SOURCE}${type}` }];
const fromPlugin: AliasOf = (type) => [{ type: `apichat:index:${type}` }];

const SECRETS = new Set(["webhookVerificationKey", "apiKey", "current", "keys", "initial"]);
const SECRET = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270" };
/** What a state holds beside the arguments of the program. */
const OUTPUTS = ["applied", "botUrl", "current", "keys", "stateVersion"];
const OF_CLASS = [...OUTPUTS, "__provider", "name", "status"];

const without = (values: Values, names: readonly string[]): Values =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));

/** Properties as `pulumi stack export --show-secrets` writes them. */
const exported = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      SECRETS.has(name) ? { ...SECRET, plaintext: JSON.stringify(value) } : value,
    ]),
  );

/** The commands of the documentation for what is tested here. Those of the Automation API run in place of the first ones. */
const { move: [moveInDocs = ""] = [], run: runInDocs } = Object.groupBy(
  commandsIn(blocksOf(readPage("docs/migration.md"), "sh")),
  (command) => (command.startsWith("pulumi state move") ? "move" : "run"),
);

const dynamic = [ApiChatWebhook, VerificationKey] as const;
const plugin = [PluginWebhook, PluginVerificationKey] as const;

describe("between the dynamic provider and the plugin, from a state of version 0.1.0", () => {
  let scene: Scene;
  let stack: TestStack;
  /** The states of version 0.1.0, at the addresses of today. */
  let webhook: Values;
  let key: Values;

  const load = async (file: string, part: string): Promise<Values> => {
    const text = await readFile(new URL(`../fixtures/${file}`, import.meta.url), "utf8");
    const today = text
      .replaceAll("http://platform.invalid", scene.emulator.url)
      .replaceAll("http://bots.invalid", scene.emulator.botUrl)
      .replaceAll("http://chat.invalid", scene.endpoint.url);
    return (JSON.parse(today) as Record<string, Values>)[part] ?? {};
  };
  const importState = async (): Promise<void> => {
    const root = "urn:pulumi:dev::test::pulumi:pulumi:Stack::test-dev";
    const provider = "urn:pulumi:dev::test::pulumi:providers:pulumi-nodejs::default";
    const id = "f5e3ac1e-9d53-4d4f-8b1c-6c1e4c2ac1fd";
    const resource = (type: string, state: Values): object => ({
      urn: `urn:pulumi:dev::test::${SOURCE}${type}::acme`,
      custom: true,
      id: state["botUrl"] ?? id,
      type: `${SOURCE}${type}`,
      inputs: exported(without(state, OUTPUTS)),
      outputs: exported(state),
      parent: root,
      provider: `${provider}::${id}`,
    });
    const resources = [
      { urn: root, custom: false, type: "pulumi:pulumi:Stack" },
      { urn: provider, custom: true, id, type: "pulumi:providers:pulumi-nodejs", inputs: {}, outputs: {} },
      resource("ApiChatWebhook", webhook),
      resource("VerificationKey", key),
    ];
    const { encryptionSalt: salt } = await stack.stack.workspace.stackSettings("dev");
    const secrets_providers = { type: "passphrase", state: { salt } };
    const manifest = { time: "2026-11-01T00:00:00Z", magic: "", version: "" };
    await stack.stack.importStack({ version: 3, deployment: { manifest, secrets_providers, resources } });
  };

  /** The same program with the classes of one of the two. */
  const program =
    ([Webhook, Key]: typeof dynamic | typeof plugin, aliases: AliasOf = () => []): PulumiFn =>
    async () => {
      const args = without(webhook, OF_CLASS) as never;
      const { botUrl } = new Webhook("acme", args, { aliases: aliases("ApiChatWebhook") });
      const { current, keys } = new Key("acme", without(key, OF_CLASS), {
        aliases: aliases("VerificationKey"),
      });
      return { botUrl, current, keys };
    };

  /** Runs a command, and gives the calls that it made. */
  const callsOf = async (command: () => Promise<unknown>): Promise<string[]> => {
    const before = scene.emulator.requests.length;
    await command();
    return scene.emulator.requests.slice(before).map(({ action }) => String(action));
  };
  const expectKeys = async (): Promise<void> => {
    const { current, keys } = key;
    expect(await stack.secretOutputs()).toMatchObject({ current, keys });
  };

  beforeAll(async () => {
    scene = await openScene(["acme", "globex"]);
    webhook = await load("state-v1.json", "plain");
    key = await load("verification-key-state-v1.json", "rotated");
    scene.emulator.workspace("acme").takeOver({
      webhook_url: String(webhook["webhookUrl"]),
      webhook_verification_key: String(webhook["webhookVerificationKey"]),
    });
    stack = await createStack(scene.backend, { plugin: pluginFolder, program: program(dynamic) });
    await importState();
  });

  test("the documentation names the commands of these tests", () =>
    expect(runInDocs).toEqual([
      "pulumi preview --diff",
      "pulumi up --yes",
      "pulumi up --yes",
      "pulumi refresh --yes",
      "pulumi up --yes --stack other",
    ]));

  test("the dynamic provider finds no change; the plugin asks once, writes nothing and keeps the keys", async () => {
    const { changes } = await stack.preview({ refresh: true, expectNoChanges: true });
    expect(changes).toEqual({ same: 3 });
    stack.run(program(plugin, fromDynamic));
    let events: EngineEvent[] = [];
    expect(await callsOf(async () => ({ events } = await stack.up()))).toEqual(["get-webhook"]);
    const changed = events.flatMap(({ resourcePreEvent: step }) =>
      Object.keys(step?.metadata.detailedDiff ?? {}),
    );
    expect(changed).toEqual(["__provider", "__provider"]);
    await expectKeys();
  });

  test("back with aliases: the same, and refresh runs on the dynamic provider again", async () => {
    stack.run(program(dynamic, fromPlugin));
    expect(await callsOf(() => stack.up())).toEqual(["get-webhook"]);
    await expectKeys();
    expect(await callsOf(() => stack.refresh())).toEqual(["get-webhook"]);
  });

  test("to the plugin in another stack: the state moves, and the plugin asks once", async () => {
    const other = await createStack(scene.backend, {
      name: "other",
      plugin: pluginFolder,
      program: program(plugin, fromDynamic),
    });
    const { workDir: cwd, envVars: env } = stack.stack.workspace;
    await execa("sh", ["-ec", moveInDocs.replaceAll("::chat::", "::test::")], { cwd, env });
    stack = other;
    expect(await callsOf(() => stack.up())).toEqual(["get-webhook"]);
    await expectKeys();
  });

  test("between explicit providers, and under another name with an alias, no webhook is written or deleted", async () => {
    const before = scene.emulator.requests.length;
    const globex = argsOf(scene, { workspace: "globex" });
    const acme = without(webhook, OF_CLASS);
    const onPlugin =
      (providerName: string, name: string, aliases: Alias[]): PulumiFn =>
      async () => {
        const provider = new PluginProvider(providerName, { apiKey: API_KEY });
        const webhooks = [
          new PluginWebhook(name, acme, { provider, aliases }),
          new PluginWebhook("globex", globex, { provider }),
        ];
        return { bot_urls: webhooks.map(({ botUrl }) => botUrl) };
      };
    const programs = [onPlugin("first", "acme", []), onPlugin("second", "acme-renamed", [{ name: "acme" }])];
    for (const next of programs) {
      stack.run(next);
      await stack.up();
      expect(registeredWorkspaces(scene)).toEqual(["acme", "globex"]);
    }
    expect(writesSince(scene, before)).toEqual(["set-webhook globex"]);
    await stack.destroy();
    expect(registeredWorkspaces(scene)).toEqual([]);
    await expectNoSecrets(stack);
  });
});
