import { join } from "node:path";
import { ApiChatWebhook } from "pulumi-apichat";
import { beforeAll, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginFolder, PluginWebhook } from "../support/plugin.ts";
import { createYamlProject, type YamlProject } from "../support/program-folder.ts";
import { argsOf, openScene, readTree, writesSince, type Scene } from "../support/scene.ts";
import { createStack } from "../support/stack.ts";
import { findSecrets } from "../support/secrets.ts";

// Each provider of a run has its own process. The processes know of each other's webhooks from the run's log.

let scene: Scene;
let project: YamlProject;
let state: string;

beforeAll(async () => {
  scene = await openScene(["acme"]);
  state = join(scene.backend.folder, "state");
  project = await createYamlProject(scene, { XDG_STATE_HOME: state });
});

/** Declares webhooks of the same workspace. `webhooks` maps each one's name to its explicit provider, "a" or "b". */
const declare = (webhooks: Record<string, "a" | "b">): Promise<void> => {
  const { baseUrl, apiKey, ...args } = argsOf(scene, { workspace: "acme" });
  const provider = { type: "pulumi:providers:apichat", properties: { baseUrl, apiKey } };
  const resources = Object.entries(webhooks).map(([name, through]) => [
    name,
    { type: "apichat:ApiChatWebhook", properties: args, options: { provider: `\${${through}}` } },
  ]);
  return project.write({ resources: { a: provider, b: provider, ...Object.fromEntries(resources) } });
};

test("explicit providers reject two webhooks of one workspace, and their log contains no secret", async () => {
  await declare({ first: "a", second: "b" });
  expect(await project.fails("preview")).toMatch(/"first" and "second" declare the same workspace/);
  const logs = [...(await readTree(join(state, "pulumi-apichat", "runs"))).values()].join("\n");
  expect(logs).toContain('"declared"');
  expect(findSecrets(logs, [API_KEY, VERIFICATION_KEY, scene.emulator.url])).toEqual([]);
});

test("a webhook can move to another explicit provider, even under a new name, and remains until destroy", async () => {
  const { emulator } = scene;
  await declare({ first: "a" });
  await project.run("up", "--yes", "--skip-preview");
  const before = emulator.requests.length;
  for (const [webhooks, parallel] of [
    [{ first: "b" }, "32"],
    [{ second: "a" }, "1"],
  ] as const) {
    await declare(webhooks);
    await project.run("up", "--yes", "--skip-preview", "--parallel", parallel);
  }
  expect(writesSince(scene, before)).toEqual([]);
  expect(emulator.workspace("acme").registration).toBeDefined();
  await project.run("destroy", "--yes", "--skip-preview");
  expect(emulator.workspace("acme").registration).toBeUndefined();
});

test("two webhooks of one workspace are rejected, even if only one belongs to the plugin", async () => {
  const stack = await createStack(scene.backend, {
    plugin: pluginFolder,
    program: async () => {
      const args = argsOf(scene, { workspace: "acme" });
      void new PluginWebhook("plugin", args);
      void new ApiChatWebhook("dynamic", args);
    },
  });
  expect(await stack.fails("preview")).toContain("declare the same workspace");
});
