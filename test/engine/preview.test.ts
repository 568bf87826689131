import { beforeAll, describe, expect, test } from "vitest";
import { createProject } from "../support/program-folder.ts";
import { createStack, type TestStack } from "../support/stack.ts";
import { declareWebhooks, openScene, webhookUrlOf, type Scene } from "../support/scene.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";

const FOREIGN = {
  webhook_url: "https://foreign.example/hook",
  webhook_verification_key: "foreign-0123456789",
};

/** The lines that the engine shows under a webhook. */
function linesUnder(output: string, name: string): string {
  return new RegExp(`ApiChatWebhook \\(${name}\\):\\n((?: {4}.*\\n)+)`).exec(output)?.[1] ?? "";
}

describe("a preview on the dynamic provider", () => {
  let scene: Scene;
  let stack: TestStack;
  const requestCount = (): number => scene.emulator.requests.length;

  beforeAll(async () => {
    scene = await openScene(["free", "ours", "refused", "taken"]);
    stack = await createStack(scene.backend, { name: "inline", program: declareWebhooks(scene, ["taken"]) });
    const ours = { webhook_url: webhookUrlOf(scene, "ours"), webhook_verification_key: VERIFICATION_KEY };
    scene.emulator.workspace("ours").takeOver(ours);
    scene.emulator.workspace("taken").takeOver(FOREIGN);
  });

  test("reports what the create of each new webhook would find, and fails for a conflict", async () => {
    const refused = { workspace: "refused", args: { apiKey: "ak-wrong-0123456789" } };
    const project = await createProject(scene);
    await project.declare(["free", "ours", refused, "taken"]);
    const output = await project.fails("preview");
    expect(linesUnder(output, "taken")).toMatch(
      /error: taken: .* already has a webhook, https:\/\/foreign\.example/,
    );
    expect(linesUnder(output, "refused")).toMatch(/warning: get-webhook at .*HTTP 401/);
    expect(linesUnder(output, "ours")).toContain("adopts http");
    expect(linesUnder(output, "free")).toBe("");
    expect(scene.emulator.requests.map(({ action }) => action)).toEqual(Array(4).fill("get-webhook"));
  });

  test("fails for a conflict in an inline program too", async () => {
    expect(linesUnder(await stack.fails("preview"), "taken")).toContain("already has a webhook");
  });

  test("sends nothing for webhooks that exist", async () => {
    stack.run(declareWebhooks(scene, ["free", "ours"]));
    await stack.up();
    const before = requestCount();
    await stack.preview();
    expect(requestCount()).toBe(before);
  });

  test("does not report its own webhook, which will be replaced, as a conflict", async () => {
    const args = { webhookUrl: `${webhookUrlOf(scene, "free")}/moved` };
    stack.run(declareWebhooks(scene, [{ workspace: "free", args }, "ours"]));
    const { output } = await stack.preview({ replace: ["**free"] });
    expect(linesUnder(output, "free")).toMatch(/warning: unless this replaces it, .*already has a webhook/);
  });
});
