import { expect, test } from "vitest";
import {
  callsOf,
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
} from "../support/scene.ts";
import { createStack } from "../support/stack.ts";

const COUNT = 40;
const names = Array.from({ length: COUNT }, (_, index) => `workspace-${String(index + 1).padStart(2, "0")}`);

test(`${COUNT} webhooks in one up, of a service that answers one call in ten with 429: each is set once`, async () => {
  const scene = await openScene(names);
  const stack = await createStack(scene.backend, { program: declareWebhooks(scene, names) });
  for (const operation of ["get-webhook", "set-webhook"] as const) {
    const fault = { status: 429, retryAfterSeconds: 1 };
    scene.emulator.injectFault({ operation, every: 10, fault });
  }
  expect((await stack.up()).changes).toEqual({ create: COUNT + 1 });
  expect(registeredWorkspaces(scene)).toEqual(names);
  expect(await stack.outputs()).toEqual(
    Object.fromEntries(names.map((name) => [name, scene.emulator.workspace(name).botUrl])),
  );
  // Nothing is called without need, and of all calls every tenth is refused and repeated.
  for (const [action, good] of [["set-webhook", COUNT] as const, ["get-webhook", 2 * COUNT] as const]) {
    const calls = callsOf(scene, action);
    expect(calls.filter(({ status }) => status === 200)).toHaveLength(good);
    expect(calls.filter(({ status }) => status === 429)).toHaveLength(Math.floor((good - 1) / 9));
  }
  await expectNoSecrets(stack);

  scene.emulator.clearFaults();
  await stack.destroy();
  expect(registeredWorkspaces(scene)).toEqual([]);
  expect(callsOf(scene, "delete-webhook")).toHaveLength(COUNT);
});
