import { beforeAll, describe, expect, test } from "vitest";
import { createProject, type Project } from "../support/program-folder.ts";
import { ApiChatWebhook } from "pulumi-apichat";
import { createStack } from "../support/stack.ts";
import { argsOf, openScene, webhookUrlOf, type Scene } from "../support/scene.ts";
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
  let project: Project;
  const urn = "urn:pulumi:dev::project::pulumi-nodejs:dynamic/apichat:ApiChatWebhook::free";
  const requestCount = (): number => scene.emulator.requests.length;

  beforeAll(async () => {
    scene = await openScene(["free", "ours", "refused", "taken"]);
    project = await createProject(scene);
    const ours = { webhook_url: webhookUrlOf(scene, "ours"), webhook_verification_key: VERIFICATION_KEY };
    scene.emulator.workspace("ours").takeOver(ours);
    scene.emulator.workspace("taken").takeOver(FOREIGN);
  });

  test("reports what the create of each new webhook would find, and fails for a conflict", async () => {
    const refused = { workspace: "refused", args: { apiKey: "ak-wrong-0123456789" } };
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
    const program = async (): Promise<void> =>
      void new ApiChatWebhook("taken", argsOf(scene, { workspace: "taken" }));
    const stack = await createStack(scene.backend, { name: "inline", program });
    expect(linesUnder(await stack.fails("preview"), "taken")).toContain("already has a webhook");
  });

  test("sends nothing for webhooks that exist", async () => {
    await project.declare(["free", "ours"]);
    await project.run("up", "--yes", "--skip-preview");
    const before = requestCount();
    await project.run("preview");
    expect(requestCount()).toBe(before);
  });

  test("does not report its own webhook, which will be replaced, as a conflict", async () => {
    await project.declare([
      { workspace: "free", args: { webhookUrl: `${webhookUrlOf(scene, "free")}/moved` } },
      "ours",
    ]);
    const output = await project.run("preview", "--replace", urn);
    expect(linesUnder(output, "free")).toMatch(/warning: unless this replaces it, .*already has a webhook/);
  });
});
