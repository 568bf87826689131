import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ApiChatWebhook } from "pulumi-apichat";
import { beforeEach, describe, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginFolder, PluginProvider, PluginWebhook } from "../support/plugin.ts";
import { createYamlProject, type YamlProject } from "../support/program-folder.ts";
import { argsOf, openScene, writesSince, type Scene } from "../support/scene.ts";
import { createStack } from "../support/stack.ts";
import { findSecrets } from "../support/secrets.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene(["acme", "globex"]);
});

const registered = (): string | undefined => scene.emulator.workspace("acme").registration?.webhook_url;

describe("explicit providers of the plugin, each a process of its own,", () => {
  let project: YamlProject;
  let state = "";

  /** Webhooks of one workspace, by name, each through a provider; without a name of one, through the default. */
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

  test.each([
    ["two explicit ones", "a", "b", "32"],
    ["the default and an explicit one", "", "b", "1"],
  ])("reject two webhooks of one workspace: %s", async (_, one, other, parallel) => {
    await declare({ first: one, second: other });
    const output = await project.fails("preview", "--parallel", parallel);
    expect(output).toMatch(/"first" and "second" declare the same workspace/);
    expect(await project.fails("up", "--yes", "--skip-preview")).toContain("declare the same workspace");
    const files = await readdir(join(state, "pulumi-apichat", "runs"));
    const texts = await Promise.all(
      files.map((file) => readFile(join(state, "pulumi-apichat", "runs", file), "utf8")),
    );
    expect(texts.join("\n")).toContain('"declared"');
    expect(findSecrets(texts.join("\n"), [API_KEY, VERIFICATION_KEY, scene.emulator.url])).toEqual([]);
  });

  test.each([
    ["under its name", "first"],
    ["under a new name", "second"],
  ])("hand a webhook over %s, and it stays registered", async (_, name) => {
    await declare({ first: "a" });
    await project.run("up", "--yes", "--skip-preview");
    const before = scene.emulator.requests.length;
    await declare({ [name]: "b" });
    await project.run("up", "--yes", "--skip-preview");
    expect(writesSince(scene, before)).toEqual([]);
    expect(registered()).toBeDefined();
    await project.run("destroy", "--yes", "--skip-preview");
    expect(registered()).toBeUndefined();
  });
});

test("a webhook that moves between the dynamic provider and the plugin, under a new name, stays registered", async () => {
  const args = argsOf(scene, { workspace: "acme" });
  const stack = await createStack(scene.backend, {
    plugin: pluginFolder,
    program: async () => void new ApiChatWebhook("dynamic", args),
  });
  const throughPlugin = async (): Promise<void> => {
    const provider = new PluginProvider("apichat", { apiKey: API_KEY });
    void new PluginWebhook("plugin", args, { provider });
  };
  await stack.up();
  const before = scene.emulator.requests.length;
  stack.run(throughPlugin);
  await stack.up();
  stack.run(async () => void new ApiChatWebhook("again", args));
  await stack.up();
  expect(writesSince(scene, before)).toEqual([]);
  expect(registered()).toBeDefined();
  stack.run(async () => {
    await throughPlugin();
    void new ApiChatWebhook("again", args);
  });
  expect(await stack.fails("preview")).toContain("declare the same workspace");
});
