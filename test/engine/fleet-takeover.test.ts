import { ApiChatWebhook, VerificationKey } from "pulumi-apichat";
import { beforeAll, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { openFleetScene, type FleetScene } from "../support/fleet.ts";
import { expectCleanBackend, QUERY_VALUE, registeredWorkspaces, writesSince } from "../support/scene.ts";
import { createStack } from "../support/stack.ts";

/** The last has its API key in the list, and a secret in its URL. */
const NAMES = ["acme", "globex", "umbrella-10"];

let scene: FleetScene;
let keys: (string | undefined)[];

const registeredKeys = () =>
  NAMES.map((name) => scene.emulator.workspace(name).registration?.webhook_verification_key);

beforeAll(async () => {
  // Test stacks are of the project "test".
  scene = await openFleetScene(NAMES, { name: "former", stacks: 1, project: "test" });
  const stack = await createStack(scene.backend, {
    name: "former-0-of-1",
    environment: { APICHAT_API_KEY: API_KEY },
    program: async () => {
      const webhooks = NAMES.map((name) => {
        const { baseUrl } = scene.emulator.workspace(name);
        const webhookVerificationKey = new VerificationKey(name, {}).current;
        return new ApiChatWebhook(name, { baseUrl, webhookUrl: scene.urlOf(name), webhookVerificationKey });
      });
      return { botUrls: webhooks.map(({ botUrl }) => botUrl) };
    },
  });
  await stack.up();
  keys = registeredKeys();
});

test("up takes over a stack of the dynamic provider: it writes nothing at the service, and keeps the keys", async () => {
  expect(new Set(keys).size).toBe(NAMES.length);
  const before = scene.emulator.requests.length;
  const report = await scene.run(NAMES, (fleet, options) => fleet.up(options));
  expect(report).toMatchObject({ outcome: "done", failures: [] });
  expect(report.stacks.flatMap(({ webhooks }) => webhooks.map(({ change }) => change))).toEqual(
    NAMES.map(() => "update"),
  );
  expect(writesSince(scene, before)).toEqual([]);
  expect(registeredKeys()).toEqual(keys);
});

test("then nothing is left to do, and destroy removes all", async () => {
  expect(await scene.run(NAMES, (fleet, options) => fleet.watch(options))).toMatchObject({
    outcome: "no-drift",
    checked: NAMES.length,
  });
  await expectCleanBackend(scene.backend, [API_KEY, QUERY_VALUE, ...keys.map((key) => key ?? "")]);
  const report = await scene.run(NAMES, (fleet, options) => fleet.destroy(options));
  expect(report).toMatchObject({ outcome: "done" });
  expect(registeredWorkspaces(scene)).toEqual([]);
});
