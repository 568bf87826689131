import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  callsOf,
  declareWebhooks,
  findLeaks,
  openScene,
  registeredWorkspaces,
  type Scene,
} from "../support/scene.ts";
import { createStack, requireSuccess, type TestStack } from "../support/stack.ts";

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `workspace-${String(index + 1).padStart(3, "0")}`);

/** How many calls of an action were answered well, and how many were told to come back later. */
function countAnswers(scene: Scene, action: string): { good: number; tooMany: number } {
  const calls = callsOf(scene, action);
  const answered = (status: number): number => calls.filter((call) => call.status === status).length;
  return { good: answered(200), tooMany: answered(429) };
}

/** Nothing is called without need, and of all calls every tenth is refused and repeated. */
function answersOf(good: number, busy: boolean): { good: number; tooMany: number } {
  return { good, tooMany: busy ? Math.floor((good - 1) / 9) : 0 };
}

describe.each([
  { count: 100, busy: false },
  { count: 200, busy: true },
])("$count webhooks in one up (the service answers one call in ten with 429: $busy)", ({ count, busy }) => {
  const names = numbered(count);
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene(names);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, names) });
  });
  afterAll(() => scene.close());

  test("each is registered once, and destroy leaves no orphan", async () => {
    if (busy) {
      for (const operation of ["get-webhook", "set-webhook"] as const) {
        const fault = { status: 429, retryAfterSeconds: 1 };
        scene.emulator.injectFault({ operation, every: 10, fault });
      }
    }
    const { changes } = requireSuccess(await stack.up());
    expect(changes).toEqual({ create: count + 1 });
    expect(registeredWorkspaces(scene)).toEqual(names);
    expect(await stack.outputs()).toEqual(
      Object.fromEntries(names.map((name) => [name, scene.emulator.workspace(name).botUrl])),
    );
    expect(countAnswers(scene, "set-webhook")).toEqual(answersOf(count, busy));
    expect(countAnswers(scene, "get-webhook")).toEqual(answersOf(2 * count, busy));
    expect(await findLeaks([stack])).toEqual([]);

    scene.emulator.clearFaults();
    const destroyed = await stack.destroy();
    requireSuccess(destroyed);
    expect(registeredWorkspaces(scene)).toEqual([]);
    expect(callsOf(scene, "delete-webhook")).toHaveLength(count);
  });
});
