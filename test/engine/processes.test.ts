import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ApiChatWebhook } from "pulumi-apichat";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginFolder, PluginProvider, PluginWebhook } from "../support/plugin.ts";
import { processesOf, signalIfAlive } from "../../tools/lib/processes.ts";
import { createYamlProject, type YamlProject } from "../support/program-folder.ts";
import { argsOf, callsOf, openScene, readTree, writesSince, type Scene } from "../support/scene.ts";
import { createStack } from "../support/stack.ts";
import { findSecrets } from "../support/secrets.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene(["acme", "globex"]);
});

const up = ["up", "--yes", "--skip-preview"] as const;
const destroy = ["destroy", "--yes", "--skip-preview"] as const;

const registered = (): string | undefined => scene.emulator.workspace("acme").registration?.webhook_url;

describe("explicit providers of the plugin, each in its own process,", () => {
  let project: YamlProject;
  let state = "";

  /** The log of each engine so far. */
  const readLogs = async (): Promise<string[]> => [
    ...(await readTree(join(state, "pulumi-apichat", "runs"))).values(),
  ];

  /** Webhooks of one workspace, by name, each with its provider; an empty name means the default provider. */
  const declare = (webhooks: Record<string, string>): Promise<void> => {
    const { baseUrl, apiKey, ...args } = argsOf(scene, { workspace: "acme" });
    const provider = { type: "pulumi:providers:apichat", properties: { baseUrl, apiKey } };
    const resources = Object.entries(webhooks).map(([name, through]) => [
      name,
      {
        type: "apichat:ApiChatWebhook",
        properties: through === "" ? { ...args, baseUrl, apiKey } : args,
        options: through === "" ? {} : { provider: `\${${through}}` },
      },
    ]);
    return project.write({ resources: { a: provider, b: provider, ...Object.fromEntries(resources) } });
  };

  beforeEach(async () => {
    state = join(scene.backend.folder, "state");
    project = await createYamlProject(scene, { XDG_STATE_HOME: state });
  });

  test("reject two webhooks of one workspace: two explicit ones, the default and an explicit one", async () => {
    await declare({ first: "a", second: "b" });
    const output = await project.fails("preview");
    expect(output).toMatch(/"first" and "second" declare the same workspace/);
    await declare({ first: "", second: "b" });
    expect(await project.fails(...up, "--parallel", "1")).toContain("declare the same workspace");
    const text = (await readLogs()).join("\n");
    expect(text).toContain('"declared"');
    expect(findSecrets(text, [API_KEY, VERIFICATION_KEY, scene.emulator.url])).toEqual([]);
  });

  test("move a webhook under its name and under a new one, and it stays registered until destroy", async () => {
    await declare({ first: "a" });
    await project.run(...up);
    const before = scene.emulator.requests.length;
    for (const [webhooks, parallel] of [
      [{ first: "b" }, "32"],
      [{ second: "a" }, "32"],
      [{ first: "b" }, "1"],
    ] as const) {
      await declare(webhooks);
      await project.run(...up, "--parallel", parallel);
    }
    expect(writesSince(scene, before)).toEqual([]);
    expect(registered()).toBeDefined();
    await project.run(...destroy);
    expect(registered()).toBeUndefined();
  });

  test("that once could not share a file: whichever of two webhooks is removed, the other one stays", async () => {
    const webhooks = { first: "a", second: "b" };
    for (const [kept, parallel] of [
      ["second", "1"],
      ["first", "32"],
    ] as const) {
      await rm(state, { recursive: true, force: true });
      await writeFile(state, "");
      await declare(webhooks);
      await project.run(...up, "--parallel", parallel);
      await rm(state);
      await declare({ [kept]: webhooks[kept] });
      const output = await project.run(...up, "--parallel", parallel);
      expect(output).toContain(`the webhook stays: it is still managed by this program, as "${kept}"`);
      expect(registered()).toBeDefined();
    }
    expect(callsOf(scene, "delete-webhook")).toEqual([]);
  });

  test("that cannot share a file: both warn, and an adopted webhook stays when its resource is removed", async () => {
    await writeFile(state, "");
    await declare({ first: "a" });
    await project.run(...up);
    await declare({ first: "a", second: "b" });
    const output = await project.run(...up);
    for (const name of ["first", "second"])
      expect(output).toMatch(new RegExp(` ${name} .*warning: several providers of this run would not see`));
    await declare({ first: "a" });
    expect(await project.run(...up)).toMatch(
      /the webhook stays: it was adopted, .* run: npx .*apichat webhook delete/,
    );
    expect(registered()).toBeDefined();
  });

  test("of two engines share nothing: a second stack may declare the same, the same stack is locked", async () => {
    await project.run("stack", "init", "other");
    await declare({ first: "a" });
    const open = scene.endpoint.hold();
    const runs = ["dev", "other"].map((stack) => project.start(...up, "--stack", stack));
    const looks = (): number => callsOf(scene, "get-webhook").length;
    await Promise.all(runs.map((run) => run.until(() => looks() === 2)));
    const declarations = (await readLogs()).map((log) => log.split('"declared"').length - 1);
    expect(declarations).toEqual([1, 1]);
    expect(await project.fails(...up, "--stack", "dev")).toContain("the stack is currently locked");
    open();
    const ends = await Promise.all(runs.map(({ done }) => done));
    expect(ends.map(({ exitCode, output }) => [exitCode, output])).toEqual(
      ends.map(() => [0, expect.not.stringContaining("declare the same workspace")]),
    );
  });
});

test.each([
  ["the dynamic provider", "the plugin", "cmd/dynamic-provider"],
  ["the plugin", "the dynamic provider", pluginFolder],
])("kill -9 of %s between its create and the delete of %s: the webhook stays", async (_, _other, killed) => {
  const program = (isMoved: boolean) => async (): Promise<void> => {
    const isDynamic = isMoved === (killed !== pluginFolder);
    const [Webhook, Other] = isDynamic ? [ApiChatWebhook, PluginWebhook] : [PluginWebhook, ApiChatWebhook];
    const webhook = new Webhook(isMoved ? "moved" : "first", argsOf(scene, { workspace: "acme" }));
    if (isMoved) void new Other("next", argsOf(scene, { workspace: "globex" }), { dependsOn: webhook });
  };
  const stack = await createStack(scene.backend, { plugin: pluginFolder, program: program(false) });
  await stack.up();
  const before = scene.emulator.requests.length;
  const open = scene.endpoint.hold();
  stack.run(program(true));
  const run = stack.up();
  await vi.waitUntil(() => scene.endpoint.requests.at(-1)?.includes("/globex"), { timeout: 120_000 });
  const home = { name: "PULUMI_HOME", value: scene.backend.environment["PULUMI_HOME"] ?? "" };
  const processes = await processesOf(home);
  const doomed = processes.filter(({ commandLine }) => commandLine.some((word) => word.includes(killed)));
  expect(doomed).toHaveLength(1);
  for (const { pid } of doomed) signalIfAlive(pid, "SIGKILL");
  open();
  await run;
  expect(writesSince(scene, before)).toEqual(["set-webhook globex"]);
  expect(registered()).toBeDefined();
});

test("a dynamic provider and a plugin reject two webhooks of one workspace", async () => {
  const args = argsOf(scene, { workspace: "acme" });
  const program = async (): Promise<void> => {
    const provider = new PluginProvider("apichat", { apiKey: API_KEY });
    void new PluginWebhook("plugin", args, { provider });
    void new ApiChatWebhook("dynamic", args);
  };
  const stack = await createStack(scene.backend, { plugin: pluginFolder, program });
  expect(await stack.fails("preview")).toContain("declare the same workspace");
});
