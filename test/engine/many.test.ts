import { expect, test } from "vitest";
import { declareWebhooks, expectNoSecrets, openScene, registeredWorkspaces } from "../support/scene.ts";
import { createStack } from "../support/stack.ts";

const COUNT = 60;
const names = Array.from({ length: COUNT }, (_, index) => `workspace-${String(index + 1).padStart(3, "0")}`);

test(`${COUNT} webhooks need two calls to create or delete one, one to refresh it`, async () => {
  const scene = await openScene(names);
  const { emulator } = scene;
  const stack = await createStack(scene.backend, {
    program: declareWebhooks(scene, names),
    environment: { PULUMI_SKIP_CHECKPOINTS: "true" },
  });
  /** How often a command called each action, without the calls that a limit rejected. */
  const countCalls = async (command: "up" | "destroy", options = {}) => {
    const first = emulator.requests.length;
    const { changes } = await stack[command](options);
    const accepted = emulator.requests.slice(first).filter(({ status }) => status === 200);
    const calls = Object.groupBy(accepted, ({ action }) => action ?? "none");
    const counts = Object.entries(calls).map(([action, all = []]) => [action, all.length]);
    return { changes, calls: Object.fromEntries(counts) as Record<string, number> };
  };

  // The service responds to some calls with 429: they are repeated, and nothing is set twice.
  const fault = { status: 429, retryAfterSeconds: 1 };
  emulator.injectFault({ operation: "set-webhook", every: 15, fault });
  expect(await countCalls("up")).toEqual({
    changes: { create: COUNT + 1 },
    // One more for the first webhook, to learn whether the service shows what was set.
    calls: { "get-webhook": COUNT + 1, "set-webhook": COUNT },
  });
  expect(emulator.requests.filter(({ status }) => status === 429)).not.toEqual([]);
  emulator.clearFaults();
  expect(registeredWorkspaces(scene)).toEqual(names);
  expect(await stack.outputs()).toEqual(
    Object.fromEntries(names.map((name) => [name, emulator.workspace(name).botUrl])),
  );

  expect(await countCalls("up", { refresh: true })).toEqual({
    changes: { same: COUNT + 1 },
    calls: { "get-webhook": COUNT },
  });
  expect((await countCalls("destroy")).calls).toEqual({ "get-webhook": COUNT, "delete-webhook": COUNT });
  expect(registeredWorkspaces(scene)).toEqual([]);
  await expectNoSecrets(stack);
});
