import { expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { createProject, createYamlProject } from "../support/program-folder.ts";
import { openScene } from "../support/scene.ts";

test("a misspelt argument ends the program with one line that names the right one, and no stack", async () => {
  const scene = await openScene(["acme"]);
  const project = await createProject(scene);
  await project.declare([{ workspace: "acme", args: { webhookUlr: "a typing mistake" } as object }]);
  const output = await project.fails("up", "--yes", "--skip-preview");
  expect(output).toMatch(/error: acme: .*webhookUlr.*webhookUrl/);
  expect(output).not.toMatch(/^\W*at .*:\d+|ApiChatError|unhandled exception/m);
});

test.each([
  ["the dynamic provider", createProject],
  ["the plugin", createYamlProject],
])(
  "up warns of an unencrypted API key and a misspelt base URL in the configuration: %s",
  async (_, create) => {
    const scene = await openScene(["acme"]);
    const project = await create(scene);
    const args = { apiKey: undefined, baseUrl: undefined };
    await project.declare([{ workspace: "acme", args }]);
    const { baseUrl } = scene.emulator.workspace("acme");
    const settings = [`apichat:apiKey=${API_KEY}`, `apichat:baseURL=${baseUrl}`];
    await project.run("config", "set-all", ...settings.flatMap((setting) => ["--plaintext", setting]));
    const output = await project.fails("up", "--yes", "--skip-preview");
    expect(output).toMatch(/warning: .*apichat:apiKey is unencrypted.*pulumi config set --secret/);
    expect(output).toMatch(/warning: .*apichat:baseURL .*is not read; it is spelled apichat:baseUrl/);
    expect(output).not.toContain(API_KEY);
  },
);
