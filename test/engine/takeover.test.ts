import { removalCommand } from "../../dist/provider/errors/index.js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
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

const FOREIGN_KEY = "the-key-of-somebody-else";
const foreign = {
  webhook_url: "https://somebody-else.example/hook",
  webhook_verification_key: FOREIGN_KEY,
};

describe("a registration that somebody else took over is left alone", () => {
  let scene: Scene;
  const stacks: TestStack[] = [];
  let stack: TestStack;
  let before = 0;

  beforeAll(async () => {
    scene = await openScene(["taken", "gone", "ours"]);
  });
  afterAll(() => scene.close());

  /** A new stack with the three webhooks; then one is taken over, and one is removed behind our back. */
  beforeEach(async () => {
    const { emulator } = scene;
    for (const one of emulator.workspaces.values()) one.remove();
    const program = declareWebhooks(scene, ["taken", "gone", "ours"]);
    stack = await createStack(scene.backend, { name: `stack-${stacks.length}`, program });
    stacks.push(stack);
    const { ok, output } = await stack.up();
    expect(ok, output).toBe(true);
    emulator.workspace("taken").takeOver(foreign);
    emulator.workspace("gone").remove();
    before = scene.emulator.requests.length;
  });

  const expectLeftAlone = (): void => {
    expect(scene.emulator.workspace("taken").registration).toMatchObject(foreign);
  };
  const warning = (): string =>
    `taken: warning: ${scene.emulator.workspace("taken").baseUrl} now has the webhook ${foreign.webhook_url}`;

  test("by destroy, with a warning; what is gone already is no failure", async () => {
    const { ok, output, changes } = await stack.destroy();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ delete: 4 });
    expect(output).toContain(warning());
    expect(output).not.toContain("gone: warning");
    expect(writesSince(scene, before)).toEqual(["delete-webhook ours"]);
    expect(registeredWorkspaces(scene)).toEqual(["taken"]);
    expectLeftAlone();
  });

  test("by up after a refresh, with a conflict, and by the destroy after that, with a warning", async () => {
    const refresh = await stack.refresh();
    expect(refresh.changes, refresh.output).toEqual({ same: 2, update: 1, delete: 1 });
    const up = await stack.up();
    expect(up.ok).toBe(false);
    expect(up.output).toMatch(
      /now has the webhook https:\/\/somebody-else\.example\/hook.*nothing was written/,
    );
    const removal = removalCommand({
      baseUrl: scene.emulator.workspace("taken").baseUrl,
      webhookUrl: foreign.webhook_url,
    });
    expect(up.output).toContain(`If it may go: ${removal}; then run pulumi up again`);
    expectLeftAlone();
    const destroy = await stack.destroy();
    expect(destroy.ok, destroy.output).toBe(true);
    expect(destroy.output).toContain(warning());
    expect(writesSince(scene, before).filter((write) => write.endsWith("taken"))).toEqual([]);
    expectLeftAlone();
  });

  test('by up without a refresh, with a conflict, until onExisting is "replace"', async () => {
    const declareTaken = (args: Declaration["args"]): void =>
      stack.run(declareWebhooks(scene, [{ workspace: "taken", args }, "ours"]));
    declareTaken({ webhookUrl: `${scene.endpoint.url}/moved` });
    const refused = await stack.up();
    expect(refused.ok).toBe(false);
    expect(refused.output).toContain(`now has the webhook ${foreign.webhook_url}`);
    expectLeftAlone();
    expect((await findResource(stack, "taken"))?.outputs).toMatchObject({ status: "verified" });
    declareTaken({ webhookUrl: `${scene.endpoint.url}/moved`, onExisting: "replace" });
    const replaced = await stack.up();
    expect(replaced.ok, replaced.output).toBe(true);
    expect(writesSince(scene, before)).toEqual(["set-webhook taken"]);
    expect(scene.emulator.workspace("taken").registration?.webhook_url).toBe(`${scene.endpoint.url}/moved`);
  });

  test("no secret is in the output or in the state", () => expectNoSecrets(stacks, [FOREIGN_KEY]));
});
