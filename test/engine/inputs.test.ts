import { expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { createProject } from "../support/program-folder.ts";
import { declareWebhooks, expectNoSecrets, openScene, QUERY_VALUE } from "../support/scene.ts";
import { createStack } from "../support/stack.ts";

test("a preview reports every invalid input at once, calls nothing, and shows no secret", async () => {
  const scene = await openScene(["acme"]);
  const wrong: Record<string, unknown> = {
    baseUrl: `platform.example/acme?token=${QUERY_VALUE}`,
    webhookUrl: `https://user:${VERIFICATION_KEY.slice(0, 2)}@chat.example/hook?token=${QUERY_VALUE}#part`,
    webhookVerificationKey: ` ${VERIFICATION_KEY}\n`,
    apiKey: `${API_KEY} `,
    onExisting: "overwrite",
    preflight: "maybe",
    timeouts: { requestSeconds: 0, readySeconds: "60", retries: 3 },
  };
  const program = declareWebhooks(scene, [{ workspace: "acme", args: wrong }]);
  const stack = await createStack(scene.backend, { program });
  const output = await stack.fails("preview");
  const timeouts = Object.keys(wrong["timeouts"] as object).map((name) => `timeouts.${name}`);
  const named = [...Object.keys(wrong).filter((name) => name !== "timeouts"), ...timeouts];
  const missing = named.filter((name) => !new RegExp(`\\b${name}: `).test(output));
  expect(missing, output).toEqual([]);
  expect(scene.emulator.requests).toEqual([]);
  await expectNoSecrets(stack);
});

test("a misspelt argument ends the program with one line that names the right one, and no stack", async () => {
  const scene = await openScene(["acme"]);
  const project = await createProject(scene);
  await project.declare([{ workspace: "acme", args: { webhookUlr: "a typing mistake" } as object }]);
  const output = await project.fails("up", "--yes", "--skip-preview");
  expect(output).toMatch(/error: acme: .*webhookUlr.*webhookUrl/);
  expect(output).not.toMatch(/^\W*at .*:\d+|ApiChatError|unhandled exception/m);
});
