import * as pulumi from "@pulumi/pulumi";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { declareWebhooks, expectNoSecrets, openScene, type Scene } from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

/** Reads the outputs of the stack `workspaces` and exports them again. */
const consume = async (): Promise<Record<string, pulumi.Output<unknown>>> => {
  const reference = new pulumi.StackReference("organization/test/workspaces");
  return { acme: reference.requireOutput("acme"), globex: reference.requireOutput("globex") };
};

describe("another stack reads bot URLs through a StackReference", () => {
  let scene: Scene;
  let workspaces: TestStack;
  let consumer: TestStack;

  beforeAll(async () => {
    scene = await openScene(["acme", "globex"]);
    const program = declareWebhooks(scene, ["acme", "globex"]);
    workspaces = await createStack(scene.backend, { name: "workspaces", program });
    consumer = await createStack(scene.backend, { name: "consumer", program: consume });
    const { ok, output } = await workspaces.up();
    expect(ok, output).toBe(true);
  });
  afterAll(() => scene.close());

  test("it gets each bot's URL, in clear", async () => {
    const { ok, output } = await consumer.up();
    expect(ok, output).toBe(true);
    for (const name of ["acme", "globex"]) {
      const exported = (await consumer.stack.outputs())[name];
      expect(exported).toEqual({ value: scene.emulator.workspace(name).botUrl, secret: false });
    }
  });

  test("a changed webhook URL changes nothing for it; a bot that moves to another host does", async () => {
    workspaces.run(
      declareWebhooks(scene, [
        { workspace: "acme", args: { webhookUrl: `${scene.endpoint.url}/moved` } },
        "globex",
      ]),
    );
    const url = await workspaces.up();
    expect(url.changes, url.output).toEqual({ same: 2, update: 1 });
    const unchanged = await consumer.preview({ expectNoChanges: true });
    expect(unchanged.ok, unchanged.output).toBe(true);

    scene.emulator.workspace("globex").change({ botBaseUrl: "http://127.0.0.2:4711" });
    const moved = await workspaces.up({ refresh: true });
    expect(moved.ok, moved.output).toBe(true);
    await consumer.up();
    expect(await consumer.outputs()).toEqual({
      acme: scene.emulator.workspace("acme").botUrl,
      globex: `http://127.0.0.2:4711/api/apichat/${scene.emulator.workspace("globex").botCode}`,
    });
  });

  test("no secret is in the output or in the state", () => expectNoSecrets([workspaces, consumer]));
});
