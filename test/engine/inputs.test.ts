import { expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { createProject } from "../support/program-folder.ts";
import { openScene } from "../support/scene.ts";

test("up reports a misspelled argument in one line, and warns of unencrypted and misspelled settings", async () => {
  const scene = await openScene(["acme"]);
  const project = await createProject(scene);
  await project.declare([{ workspace: "acme", args: { webhookUlr: "a typing mistake" } as object }]);
  const failed = await project.fails("up", "--yes", "--skip-preview");
  expect(failed).toMatch(/error: acme: .*webhookUlr.*webhookUrl/);
  expect(failed).not.toMatch(/^\W*at .*:\d+|ApiChatError|unhandled exception/m);

  await project.declare([{ workspace: "acme", args: { apiKey: undefined, baseUrl: undefined } }]);
  const { baseUrl } = scene.emulator.workspace("acme");
  const settings = [`apichat:apiKey=${API_KEY}`, `apichat:baseURL=${baseUrl}`];
  await project.run("config", "set-all", ...settings.flatMap((setting) => ["--plaintext", setting]));
  const output = await project.fails("up", "--yes", "--skip-preview");
  expect(output).toMatch(/warning: .*apichat:apiKey is unencrypted.*pulumi config set --secret/);
  expect(output).toMatch(/warning: .*apichat:baseURL .*is not read; use apichat:baseUrl/);
  expect(output).not.toContain(API_KEY);
});
