import { beforeAll, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { openFleetScene, type FleetScene } from "../support/fleet.ts";
import {
  expectCleanBackend,
  QUERY_VALUE,
  readTree,
  registeredWorkspaces,
  writesSince,
} from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

/** The last has its API key in the list, and a secret in its URL. */
const NAMES = ["acme", "globex", "umbrella-10"];
const REFUSED = "globex";
const STRANGER = {
  webhook_url: "https://somebody.example/hook",
  webhook_verification_key: "key-of-somebody",
};

let scene: FleetScene;
const keys = new Set<string>();

beforeAll(async () => {
  scene = await openFleetScene(NAMES, { name: "plugged", stacks: 1, provider: "plugin" });
});

const keyOf = (name: string): string =>
  scene.emulator.workspace(name).registration?.webhook_verification_key ?? "";
const setWebhooks = (names: readonly string[]): string[] => names.map((name) => `set-webhook ${name}`);

test("the plan counts what is free and what is taken, and asks each workspace once", async () => {
  scene.emulator.workspace(REFUSED).takeOver(STRANGER);
  const plan = await scene.run(NAMES, (fleet, options) => fleet.plan(options));
  expect(plan).toMatchObject({
    outcome: "done",
    totals: { create: 3 },
    creates: { free: 2, adopted: 0, taken: 1, unknown: 0 },
    others: [{ kind: "key", change: "create", count: 3 }],
  });
  expect(scene.emulator.requests.length).toBe(NAMES.length);
  scene.emulator.workspace(REFUSED).remove();
});

test("up registers all but the one whose endpoint refuses, which is reported as data", async () => {
  scene.refused.add(REFUSED);
  const report = await scene.run(NAMES, (fleet, options) => fleet.up(options));
  expect(report.failures).toMatchObject([
    { workspace: REFUSED, error: { code: "handshake_failed", hints: expect.any(Array) as unknown } },
  ]);
  expect(registeredWorkspaces(scene).toSorted()).toEqual(NAMES.filter((name) => name !== REFUSED));

  scene.refused.clear();
  const before = scene.emulator.requests.length;
  const again = await scene.run(NAMES, (fleet, options) => fleet.up({ onlyFailed: true, ...options }));
  expect(again).toMatchObject({ outcome: "done", failures: [] });
  expect(writesSince(scene, before)).toEqual(setWebhooks([REFUSED]));
  NAMES.forEach((name) => keys.add(keyOf(name)));
  expect(keys.size).toBe(NAMES.length);
  const botUrls = await (await scene.open(NAMES)).botUrls();
  expect(botUrls).toEqual(
    Object.fromEntries(NAMES.map((name) => [name, scene.emulator.workspace(name).botUrl])),
  );
});

test("watch finds drift", async () => {
  scene.emulator.workspace("acme").change({ webhook_status: "failed" });
  const report = await scene.run(NAMES, (fleet, options) => fleet.watch(options));
  expect(report).toMatchObject({ outcome: "drift", checked: 3 });
  expect(report.workspaces).toMatchObject([
    { workspace: "acme", kind: "changed", properties: [{ property: "status", actual: "failed" }] },
  ]);
});

test("a rotation repairs that, gives each a new key once, and notes it under its workspace", async () => {
  const before = scene.emulator.requests.length;
  const report = await scene.run(NAMES, (fleet, options) =>
    fleet.rotate({ rotation: "2026-12", ...options }),
  );
  expect(report).toMatchObject({ outcome: "done", keys: { new: NAMES, old: [], unsure: [] } });
  expect(writesSince(scene, before)).toEqual(setWebhooks(NAMES).toSorted());
  const notes = report.stacks.flatMap((stack) => stack.notes);
  expect(NAMES.filter((name) => !notes.some((note) => note.startsWith(`${name}: `)))).toEqual([]);
  NAMES.forEach((name) => keys.add(keyOf(name)));
  expect(keys.size).toBe(2 * NAMES.length);
});

test("a move to the dynamic provider and back writes nothing at the service", async () => {
  const before = scene.emulator.requests.length;
  for (const provider of ["dynamic", "plugin"] as const) {
    const fleet = await scene.open(NAMES, { provider, file: "arguments.ts" });
    const report = await fleet.up();
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(report.stacks.flatMap(({ webhooks }) => webhooks.map(({ change }) => change))).toEqual(
      NAMES.map(() => "update"),
    );
  }
  expect(writesSince(scene, before)).toEqual([]);
  expect(NAMES.every((name) => keys.has(keyOf(name)))).toBe(true);
});

test("a program that makes resources is refused, with what to write", async () => {
  const { failures } = await (await scene.open(NAMES, { file: "typed-program.ts" })).up();
  expect(failures).toMatchObject([
    { message: expect.stringMatching(/^with provider: "plugin" a program gives arguments/) as string },
  ]);
});

test("destroy removes all of it; nothing held a secret", async () => {
  const secrets = [API_KEY, QUERY_VALUE, ...keys];
  await expectCleanBackend(scene.backend, secrets);
  const report = await scene.run(NAMES, (fleet, options) => fleet.destroy(options));
  expect(report).toMatchObject({ outcome: "done", failures: [] });
  expect(registeredWorkspaces(scene)).toEqual([]);
  expect(await scene.deployedStacks()).toEqual([]);
  const left = [...(await readTree(scene.workFolder)).values()];
  expect(findSecrets(JSON.stringify([scene.printed, left]), secrets)).toEqual([]);
});
