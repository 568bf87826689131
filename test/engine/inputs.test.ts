import { expect, test } from "vitest";
import { createProject } from "../support/program-folder.ts";
import { openScene } from "../support/scene.ts";

test("a misspelt argument ends the program with one line that names the right one, and no stack", async () => {
  const scene = await openScene(["acme"]);
  const project = await createProject(scene);
  await project.declare([{ workspace: "acme", args: { webhookUlr: "a typing mistake" } as object }]);
  const output = await project.fails("up", "--yes", "--skip-preview");
  expect(output).toMatch(/error: acme: .*webhookUlr.*webhookUrl/);
  expect(output).not.toMatch(/^\W*at .*:\d+|ApiChatError|unhandled exception/m);
});
