import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import {
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";
import { findResource } from "../support/state.ts";

const OTHER_API_KEY = "the-api-key-of-another-system";

describe("one receiver URL for three workspaces: the bot code tells them apart", () => {
  let scene: Scene;
  let stack: TestStack;
  let other: TestStack;
  let webhookUrl: string;

  /** acme takes its API key from the environment. */
  const acme = (args: Declaration["args"] = {}): Declaration => ({
    workspace: "acme",
    args: { webhookUrl, apiKey: undefined, ...args },
  });
  const initech = (): Declaration => ({ workspace: "initech", args: { webhookUrl } });

  const expectUntouched = (names = ["acme", "globex", "initech"]): void => {
    expect(registeredWorkspaces(scene)).toEqual(names);
    for (const name of names) {
      expect(scene.emulator.workspace(name).registration?.webhook_url).toBe(webhookUrl);
    }
  };

  beforeAll(async () => {
    scene = await openScene([], {
      workspaces: [
        // One address, told apart by the API key.
        { name: "acme", path: "shared", apiKey: API_KEY },
        { name: "globex", path: "shared", apiKey: OTHER_API_KEY },
        { name: "initech", apiKey: API_KEY },
        { name: "alias", apiKey: API_KEY },
      ],
    });
    scene.emulator.workspace("alias").change({ owner: "acme" });
    webhookUrl = `${scene.endpoint.url}/receiver`;
    stack = await createStack(scene.backend, {
      program: declareWebhooks(scene, [acme(), initech()]),
      environment: { APICHAT_API_KEY: API_KEY },
    });
    other = await createStack(scene.backend, {
      name: "other",
      program: declareWebhooks(scene, [{ workspace: "globex", args: { webhookUrl, apiKey: OTHER_API_KEY } }]),
    });
  });
  afterAll(() => scene.close());

  test("all three are registered, and each delivery says whose it is", async () => {
    for (const one of [stack, other]) {
      const { ok, output } = await one.up();
      expect(ok, output).toBe(true);
    }
    expectUntouched();
    for (const name of ["acme", "globex", "initech"]) {
      const { verdict } = await scene.emulator.workspace(name).deliver({
        sender_id: "contact-1",
        conv_id: 1,
        type: "text",
        message_type: "outgoing",
        private: false,
        text: `from ${name}`,
      });
      expect(verdict).toBe("delivered");
    }
    expect(scene.endpoint.deliveries).toHaveLength(3);
  });

  test("an API key in the program that reaches another workspace is a conflict in update", async () => {
    const before = scene.emulator.requests.length;
    stack.run(declareWebhooks(scene, [acme({ apiKey: OTHER_API_KEY }), initech()]));
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toContain(`now reaches the bot ${scene.emulator.workspace("globex").botCode}`);
    expect(writesSince(scene, before)).toEqual([]);
    expectUntouched();
  });

  // The engine takes two resources in any order, so a dependency fixes it here.
  test.each([
    { first: "acme", second: "alias" },
    { first: "alias", second: "acme" },
  ])("a new resource that reaches the workspace of another is a conflict: $first first", async (order) => {
    const before = scene.emulator.requests.length;
    const declared = new Map([
      ["acme", acme()],
      ["alias", { workspace: "alias", args: { webhookUrl } }],
    ]);
    const declarations = [order.first, order.second].map((name) => declared.get(name) as Declaration);
    stack.run(declareWebhooks(scene, [...declarations, initech()], { oneAfterTheOther: true }));
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toMatch(/"acme" and "alias" reach the same workspace/);
    // Taken away again, the second resource leaves the registration of the first alone.
    stack.run(declareWebhooks(scene, [acme(), initech()]));
    const without = await stack.up();
    expect(without.ok, without.output).toBe(true);
    expect(await findResource(stack, "alias")).toBeUndefined();
    expect(writesSince(scene, before)).toEqual([]);
    expectUntouched();
  });

  test("an API key in the environment that reaches another workspace is a conflict in read and in delete", async () => {
    const before = scene.emulator.requests.length;
    stack.setEnvironment({ APICHAT_API_KEY: OTHER_API_KEY });
    const refresh = await stack.refresh();
    expect(refresh.ok).toBe(false);
    expect(refresh.output).toContain(`now reaches the bot ${scene.emulator.workspace("globex").botCode}`);
    expect(await findResource(stack, "acme")).toBeDefined();
    stack.run(declareWebhooks(scene, [initech()]));
    const removal = await stack.up();
    expect(removal.ok).toBe(false);
    expect(removal.output).toContain("for another API key than the last used");
    expect(await findResource(stack, "acme")).toBeDefined();
    expect(writesSince(scene, before)).toEqual([]);
    stack.setEnvironment({ APICHAT_API_KEY: API_KEY });
  });

  test("a base URL that reaches another workspace is a conflict in read, and delete leaves that one alone", async () => {
    const before = scene.emulator.requests.length;
    const { emulator } = scene;
    emulator.workspace("initech").change({ owner: "globex" });
    const refresh = await stack.refresh();
    expect(refresh.ok).toBe(false);
    expect(refresh.output).toContain(`now reaches the bot ${emulator.workspace("globex").botCode}`);
    expect(await findResource(stack, "initech")).toBeDefined();
    emulator.workspace("initech").change({ owner: "initech" });
    emulator.workspace("acme").change({ owner: "globex" });
    const removal = await stack.up();
    expect(removal.ok, removal.output).toBe(true);
    expect(removal.output).toContain(
      `acme: warning: ${emulator.workspace("acme").baseUrl} now has the webhook ${webhookUrl} of the bot ${emulator.workspace("globex").botCode}, which is not ours; it stays`,
    );
    expect(writesSince(scene, before)).toEqual([]);
    expectUntouched();
  });

  test("destroy removes the workspace of its own stack only", async () => {
    const before = scene.emulator.requests.length;
    const { ok, output } = await stack.destroy();
    expect(ok, output).toBe(true);
    expect(writesSince(scene, before)).toEqual(["delete-webhook initech"]);
    expectUntouched(["acme", "globex"]);
  });

  test("no secret is in the output or in the state", () => expectNoSecrets([stack, other], [OTHER_API_KEY]));
});
