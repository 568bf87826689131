import type { Fault, FaultOperation } from "pulumi-apichat/emulator";
import { beforeAll, describe, expect, test } from "vitest";
import {
  callsOf,
  declareWebhooks,
  expectNoSecrets,
  openScene,
  registeredWorkspaces,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

interface Trouble {
  fault: Fault;
  times: number;
  /** What the error says; undefined if it is overcome without one. */
  says?: RegExp;
  /** The change is made, and nobody is told: a look finds it. */
  isLost?: true;
}

const HOUR_MS = 3_600_000;

/** What goes wrong, by the name of the workspace that it strikes. */
const troubles: Record<string, Trouble> = {
  "broken-before": { fault: "close-before", times: 1 },
  "broken-after": { fault: "close-after", times: 1 },
  "too-many": { fault: { status: 429, retryAfterSeconds: 1 }, times: 1 },
  unavailable: { fault: { status: 503 }, times: 3 },
  hanging: { fault: { delayMs: HOUR_MS }, times: 1, says: /within 5 s/ },
  "hanging-after": { fault: { delayMs: HOUR_MS, afterChange: true }, times: 1, isLost: true },
  "broken-json": { fault: "broken-json", times: 1, isLost: true },
  html: { fault: "html", times: 1, isLost: true },
  "not-ok": {
    fault: { statusField: "error" },
    times: Infinity,
    says: /\{\\?"status\\?":\\?"error\\?"/,
  },
};

const names = Object.keys(troubles);
const overcome = names.filter((name) => troubles[name]?.says === undefined);
const failing = names.filter((name) => !overcome.includes(name));
const isRetried = (name: string): boolean => overcome.includes(name) && !troubles[name]?.isLost;

const expectFailures = (output: string, operation: FaultOperation): void => {
  for (const [name, { says }] of Object.entries(troubles)) {
    const failure = new RegExp(`error: ${name}: ${operation} at [^\\n]*`).exec(output)?.[0];
    expect(failure ?? `no error of ${name}`).toMatch(says ?? `no error of ${name}`);
  }
};

describe("a service in trouble", () => {
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene(names);
    const args = { timeouts: { requestSeconds: 5, readySeconds: 1 } };
    // Three failures with back-off and a second of Retry-After need more than the time limit of the hanging ones.
    const patient = { timeouts: { requestSeconds: 30, readySeconds: 1 } };
    stack = await createStack(scene.backend, {
      program: declareWebhooks(
        scene,
        names.map((workspace) => ({ workspace, args: isRetried(workspace) ? patient : args })),
      ),
    });
  });

  const strike = (operation: FaultOperation): void => {
    for (const [workspace, { fault, times }] of Object.entries(troubles)) {
      scene.emulator.injectFault({ operation, workspace, times, fault });
    }
  };

  const expectInState = async (expected: readonly string[]): Promise<void> => {
    const found = await Promise.all(names.map((name) => stack.resource(name)));
    expect(names.filter((_, index) => found[index])).toEqual(expected);
  };

  const countCalls = (action: FaultOperation): Record<string, number> =>
    Object.fromEntries(names.map((name) => [name, callsOf(scene, action, name).length]));

  test("during set-webhook: what can be overcome succeeds by itself, the rest fails with its reason", async () => {
    strike("set-webhook");
    expectFailures(await stack.fails("up", { continueOnError: true }), "set-webhook");
    expect(countCalls("set-webhook")).toMatchObject({
      "broken-before": 2,
      "broken-after": 2,
      "too-many": 2,
      unavailable: 4,
      hanging: 1,
      "broken-json": 1,
      html: 1,
    });
    await expectInState(overcome);
  });

  test("the next up converges", async () => {
    scene.emulator.clearFaults();
    const standing = registeredWorkspaces(scene);
    expect(standing.toSorted()).toEqual(overcome.toSorted());
    const before = countCalls("set-webhook");
    const { changes } = await stack.up();
    expect(changes).toMatchObject({ create: failing.length });
    expect(registeredWorkspaces(scene)).toEqual(names);
    const after = countCalls("set-webhook");
    const setAgain = names.filter((name) => after[name] !== before[name]);
    expect(setAgain).toEqual(["hanging", "not-ok"]);
  });

  test("during delete-webhook: the same", async () => {
    strike("delete-webhook");
    expectFailures(await stack.fails("destroy", { continueOnError: true }), "delete-webhook");
    expect(registeredWorkspaces(scene)).toEqual(["hanging", "not-ok"]);
    const calls = countCalls("delete-webhook");
    expect(calls).toMatchObject({
      "broken-before": 2,
      // The look before the repetition found nothing left to remove.
      "broken-after": 1,
      "too-many": 2,
      unavailable: 4,
    });
    await expectInState(failing);
    await expectNoSecrets(stack);
  });

  test("the next destroy converges, and leaves no orphan", async () => {
    scene.emulator.clearFaults();
    const before = countCalls("delete-webhook");
    await stack.destroy();
    const after = countCalls("delete-webhook");
    expect(names.filter((name) => after[name] !== before[name])).toEqual(["hanging", "not-ok"]);
    expect(registeredWorkspaces(scene)).toEqual([]);
  });
});
