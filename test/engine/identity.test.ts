import { beforeAll, describe, expect, test } from "vitest";
import {
  callsOf,
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const names = ["acme", "globex", "initech", "umbrella"];

describe("a webhook is kept when a program renames it", () => {
  let scene: Scene;
  let stack: TestStack;

  const acme = { workspace: "acme", name: "acme-renamed" };
  const globex = { workspace: "globex", name: "globex-renamed" };
  const initech: Declaration = { workspace: "initech", name: "initech-renamed" };
  const aliased = { ...globex, options: { aliases: [{ name: "globex" }] } };

  const declare = (...declarations: (string | Declaration)[]): void =>
    stack.run(declareWebhooks(scene, declarations));

  beforeAll(async () => {
    scene = await openScene([...names, "empty"]);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, names) });
    await stack.up();
  });

  const expectAllAlive = (): void => {
    expect(registeredWorkspaces(scene)).toEqual(names);
    for (const name of names) {
      expect(scene.emulator.workspace(name).registration).toMatchObject({
        webhook_url: webhookUrlOf(scene, name),
        webhook_status: "verified",
      });
    }
  };

  test("a rename without an alias adopts it and removes nothing; one with an alias changes nothing", async () => {
    declare(acme, aliased, initech, "umbrella");
    const { output, changes } = await stack.up();
    expect(changes).toMatchObject({ create: 2, delete: 2 });
    expect(output).toMatch(/acme: .*"acme-renamed"/);
    expect(output).toMatch(/initech: .*"initech-renamed"/);
    expect(callsOf(scene, "delete-webhook")).toEqual([]);
    expect(callsOf(scene, "set-webhook")).toHaveLength(names.length);
    expectAllAlive();
  });

  test("--replace of a webhook whose URL also changes is a conflict: an update changes it", async () => {
    const before = scene.emulator.requests.length;
    const args = { webhookUrl: `${scene.endpoint.url}/moved` };
    declare(acme, globex, initech, { workspace: "umbrella", args });
    expect(await stack.fails("up", { replace: ["**umbrella"] })).toContain("already has a webhook");
    expect(writesSince(scene, before)).toEqual([]);
    expectAllAlive();
  });

  test("--replace sets it at another workspace before it removes the old one, or adopts it at the same", async () => {
    const before = scene.emulator.requests.length;
    const { baseUrl } = scene.emulator.workspace("empty");
    const aliases = [{ name: "globex-renamed" }];
    declare(
      acme,
      { workspace: "globex", name: "globex-again", options: { aliases } },
      { ...initech, args: { baseUrl } },
      "umbrella",
    );
    const replace = ["**initech-renamed", "**umbrella", "**globex-again"];
    const { output, changes } = await stack.up({ replace });
    expect(changes).toMatchObject({ replace: 3 });
    expect(output).toMatch(/globex-renamed: .*"globex-again"/);
    const calls = scene.emulator.requests
      .slice(before)
      .map(({ action, workspace }) => `${action} ${workspace}`);
    expect(calls.filter((call) => !call.startsWith("get-webhook"))).toEqual([
      "set-webhook empty",
      "delete-webhook initech",
    ]);
    expect(registeredWorkspaces(scene)).toEqual(["acme", "globex", "umbrella", "empty"]);
    await expectNoSecrets(stack);
  });
});
