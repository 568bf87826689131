import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ApiChatWebhook } from "pulumi-apichat";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginFolder, PluginWebhook } from "../support/plugin.ts";
import { processesOf, signalIfAlive } from "../../tools/lib/processes.ts";
import { createYamlProject, type YamlProject } from "../support/program-folder.ts";
import { argsOf, openScene, readTree, writesSince, type Scene } from "../support/scene.ts";
import { createStack } from "../support/stack.ts";
import { findSecrets } from "../support/secrets.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["acme", "globex"]);
});

const up = ["up", "--yes", "--skip-preview"] as const;
const destroy = ["destroy", "--yes", "--skip-preview"] as const;

const registered = (): string | undefined => scene.emulator.workspace("acme").registration?.webhook_url;

describe("explicit providers of the plugin, each in its own process", () => {
  let project: YamlProject;
  let state = "";

  /** The log of each engine so far. */
  const readLogs = async (): Promise<string[]> => [
    ...(await readTree(join(state, "pulumi-apichat", "runs"))).values(),
  ];

  /** Webhooks of one workspace, by name, each with its provider. */
  const declare = (webhooks: Record<string, string>): Promise<void> => {
    const { baseUrl, apiKey, ...args } = argsOf(scene, { workspace: "acme" });
    const provider = { type: "pulumi:providers:apichat", properties: { baseUrl, apiKey } };
    const resources = Object.entries(webhooks).map(([name, through]) => [
      name,
      { type: "apichat:ApiChatWebhook", properties: args, options: { provider: `\${${through}}` } },
    ]);
    return project.write({ resources: { a: provider, b: provider, ...Object.fromEntries(resources) } });
  };

  beforeAll(async () => {
    state = join(scene.backend.folder, "state");
    project = await createYamlProject(scene, { XDG_STATE_HOME: state });
  });

  test("reject two webhooks of one workspace, and their shared log contains no secret", async () => {
    await declare({ first: "a", second: "b" });
    expect(await project.fails("preview")).toMatch(/"first" and "second" declare the same workspace/);
    const text = (await readLogs()).join("\n");
    expect(text).toContain('"declared"');
    expect(findSecrets(text, [API_KEY, VERIFICATION_KEY, scene.emulator.url])).toEqual([]);
  });

  test("can exchange a webhook, even under a new name, and it stays registered until destroy", async () => {
    await declare({ first: "a" });
    await project.run(...up);
    const before = scene.emulator.requests.length;
    for (const [webhooks, parallel] of [
      [{ first: "b" }, "32"],
      [{ second: "a" }, "1"],
    ] as const) {
      await declare(webhooks);
      await project.run(...up, "--parallel", parallel);
    }
    expect(writesSince(scene, before)).toEqual([]);
    expect(registered()).toBeDefined();
    await project.run(...destroy);
    expect(registered()).toBeUndefined();
  });

  test("warn if they cannot share a file, and keep a webhook when one of its two resources is removed", async () => {
    const webhooks = { first: "a", second: "b" };
    const before = scene.emulator.requests.length;
    await rm(state, { recursive: true });
    await writeFile(state, "");
    await declare(webhooks);
    const warned = await project.run(...up);
    for (const name of ["first", "second"])
      expect(warned).toMatch(new RegExp(` ${name} .*warning: several providers of this run would not see`));

    await rm(state);
    await declare({ first: "a" });
    const output = await project.run(...up);
    expect(output).toContain('the webhook stays: it is still managed by this program, as "first"');

    await rm(state, { recursive: true });
    await writeFile(state, "");
    await declare(webhooks);
    await project.run(...up);
    await declare({ first: "a" });
    expect(await project.run(...up)).toMatch(
      /the webhook stays: it was adopted, .* run: npx .*apichat webhook delete/,
    );
    expect(writesSince(scene, before)).not.toContain("delete-webhook acme");
  });
});

test("a webhook survives kill -9 of the plugin between its create and the dynamic provider's delete", async () => {
  scene.emulator.workspace("acme").removeRegistration();
  const stack = await createStack(scene.backend, {
    plugin: pluginFolder,
    program: async () => void new ApiChatWebhook("first", argsOf(scene, { workspace: "acme" })),
  });
  await stack.up();
  const before = scene.emulator.requests.length;
  const open = scene.endpoint.hold();
  stack.run(async () => {
    const webhook = new PluginWebhook("moved", argsOf(scene, { workspace: "acme" }));
    void new ApiChatWebhook("next", argsOf(scene, { workspace: "globex" }), { dependsOn: webhook });
  });
  const run = stack.up();
  await vi.waitUntil(() => scene.endpoint.requests.at(-1)?.includes("/globex"), { timeout: 120_000 });
  const home = { name: "PULUMI_HOME", value: scene.backend.environment["PULUMI_HOME"] ?? "" };
  const processes = await processesOf(home);
  const plugins = processes.filter(({ commandLine }) =>
    commandLine.some((word) => word.includes(pluginFolder)),
  );
  expect(plugins).toHaveLength(1);
  for (const { pid } of plugins) signalIfAlive(pid, "SIGKILL");
  open();
  await run;
  expect(writesSince(scene, before)).toEqual(["set-webhook globex"]);
  expect(registered()).toBeDefined();

  stack.run(async () => {
    const args = argsOf(scene, { workspace: "acme" });
    void new PluginWebhook("plugin", args);
    void new ApiChatWebhook("dynamic", args);
  });
  expect(await stack.fails("preview")).toContain("declare the same workspace");
});
