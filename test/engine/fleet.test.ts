import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { openFleet, type Fleet, type FleetEvent } from "pulumi-apichat/fleet";
import { beforeAll, expect, test } from "vitest";
import { stackOf } from "../../dist/provider/fleet/placement.js";
import { API_KEY } from "../support/endpoint.ts";
import { startServer } from "../support/http.ts";
import {
  expectCleanBackend,
  openScene,
  QUERY_VALUE,
  readTree,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

// Takes a fleet of ten workspaces in two stacks from `up` to `destroy`.

const NAMES = Array.from({ length: 10 }, (_, index) => `customer-${String(index + 1).padStart(2, "0")}`);
/** A workspace that is only in the first list of workspaces. */
const LEAVER = "former";
/** A workspace that is in every list except the first. */
const NEWCOMER = "customer-06";
const STAYERS = NAMES.filter((name) => name !== NEWCOMER);
const FIRST = [...STAYERS, LEAVER];
/** A workspace with a secret in its URL's query, and with its own API key. The others use the environment's key. */
const SECRETIVE = "customer-10";
const STRANGER = {
  webhook_url: "https://somebody.example/hook",
  webhook_verification_key: "the-key-of-somebody-else",
};
const STACKS = [0, 1].map((index) => `production-${index}-of-2`);
const INDEX = "production-index";

/** Two workspaces of the first stack: one webhook is changed by hand, the other is removed by hand. */
const [drifted = "", gone = ""] = STAYERS.filter((name) => stackOf(name, 2) === 0);
/** A workspace of the second stack; somebody else takes over its webhook. */
const [taken = ""] = STAYERS.filter((name) => stackOf(name, 2) === 1);

let scene: Scene;
let folder: string;
let endpointUrl: string;
/** All keys that were ever registered. */
const keys = new Set([STRANGER.webhook_verification_key]);
/** Every report and event of the fleet's commands. None may contain a secret. */
const printed: unknown[] = [];

beforeAll(async () => {
  scene = await openScene([...NAMES, LEAVER]);
  folder = join(scene.backend.folder, "fleet");
  // This endpoint accepts a handshake with any token.
  const endpoint = await startServer(({ body }, response) =>
    response.end(new URLSearchParams(body).get("hub_challenge")),
  );
  endpointUrl = endpoint.url;
});

/** Opens the fleet with these workspaces. */
const open = (names: readonly string[]): Promise<Fleet> =>
  openFleet(
    {
      project: "apichat-fleet",
      name: "production",
      stacks: 2,
      folder,
      webhook: ({ baseUrl, apiKey, webhookUrl = "" }) => {
        return { baseUrl, apiKey, webhookUrl, webhookVerificationKey: {} };
      },
      workspaces: names.map((name) => ({
        name,
        baseUrl: scene.emulator.workspace(name).baseUrl,
        ...(name === SECRETIVE
          ? { webhookUrl: webhookUrlOf({ endpoint: { url: endpointUrl } }, name), apiKey: API_KEY }
          : { webhookUrl: `${endpointUrl}/${name}` }),
      })),
    },
    { environment: { ...scene.backend.environment, APICHAT_API_KEY: API_KEY } },
  );

/** Opens the fleet, runs a command on it, and records its events and report. */
async function run<Report>(
  names: readonly string[],
  command: (fleet: Fleet, options: { onEvent: (event: FleetEvent) => void }) => Promise<Report>,
): Promise<Report> {
  const report = await command(await open(names), { onEvent: (event) => void printed.push(event) });
  printed.push(report);
  return report;
}

/** The fleet's stacks that have a state. Until there is one, their folder does not exist. */
async function deployedStacks(): Promise<string[]> {
  const files = await readdir(join(scene.backend.folder, ".pulumi/stacks/apichat-fleet")).catch(() => []);
  return files.filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -".json".length));
}

const setWebhooks = (names: readonly string[]): string[] =>
  names.map((name) => `set-webhook ${name}`).toSorted();
const botUrlsOf = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.toSorted().map((name) => [name, scene.emulator.workspace(name).botUrl]));
const readBotUrls = async (): Promise<Record<string, string>> => (await open(NAMES)).botUrls();

const noteKeys = (): void => {
  for (const { registration } of scene.emulator.workspaces.values())
    if (registration) keys.add(registration.webhook_verification_key);
};

test("up registers every workspace with its own key, and writes the index of bot URLs", async () => {
  const report = await run(FIRST, (fleet, options) => fleet.up(options));
  expect(report).toMatchObject({ outcome: "done", failures: [], skipped: [] });
  expect(writesSince(scene, 0)).toEqual(setWebhooks(FIRST));
  expect(report.stacks.map(({ stack }) => stack)).toEqual(STACKS);
  expect(registeredWorkspaces(scene).toSorted()).toEqual(FIRST.toSorted());
  noteKeys();
  expect(keys.size).toBe(FIRST.length + 1);
  expect((await deployedStacks()).toSorted()).toEqual([...STACKS, INDEX]);
  expect(await readBotUrls()).toEqual(botUrlsOf(FIRST));
});

test("up with refresh adds, removes and repairs webhooks, and fails on a takeover", async () => {
  scene.emulator.workspace(drifted).change({ webhook_url: "https://changed.example/hook" });
  scene.emulator.workspace(gone).removeRegistration();
  scene.emulator.workspace(taken).takeOver(STRANGER);
  const count = scene.emulator.requests.length;
  const report = await run(NAMES, (fleet, options) => fleet.up({ refresh: true, ...options }));
  expect(report.outcome).toBe("failed");
  const message = expect.stringContaining(STRANGER.webhook_url) as string;
  expect(report.failures).toMatchObject([{ workspace: taken, message }]);
  expect(report.stacks.map(({ outcome }) => outcome)).toEqual(["done", "failed"]);
  const done = [...setWebhooks([drifted, gone, NEWCOMER]), `delete-webhook ${LEAVER}`];
  expect(writesSince(scene, count)).toEqual(done.toSorted());
  expect(scene.emulator.workspace(taken).registration).toMatchObject(STRANGER);
  noteKeys();
  expect(await readBotUrls()).toEqual(botUrlsOf(NAMES));
});

test("a rotation sets each webhook once, in its stack's wave, even one that the last up failed to set", async () => {
  scene.emulator.workspace(taken).removeRegistration();
  const count = scene.emulator.requests.length;
  const rotation = "2026-12";
  const report = await run(NAMES, (fleet, options) => fleet.rotate({ rotation, waveSize: 1, ...options }));
  expect(report).toMatchObject({ outcome: "done", rotation, failures: [] });
  expect(report.waves.map(({ stacks, outcome }) => [stacks, outcome])).toEqual(
    STACKS.map((stack) => [[stack], "done"]),
  );
  expect(writesSince(scene, count)).toEqual(setWebhooks(NAMES));
  const handshakes = NAMES.flatMap((name) => [...scene.emulator.workspace(name).handshakes]);
  expect(handshakes.filter(({ verdict }) => verdict === "failed")).toEqual([]);
  noteKeys();
  expect(keys.size).toBe(2 * NAMES.length + 2);
});

test("destroy removes the webhooks and the index, but keeps somebody else's webhook", async () => {
  const secrets = [API_KEY, QUERY_VALUE, ...keys];
  await expectCleanBackend(scene.backend, secrets);

  scene.emulator.workspace(taken).takeOver(STRANGER);
  const report = await run(NAMES, (fleet, options) => fleet.destroy(options));
  expect(report).toMatchObject({ outcome: "done", failures: [] });
  expect(registeredWorkspaces(scene)).toEqual([taken]);
  expect(scene.emulator.workspace(taken).registration).toMatchObject(STRANGER);
  expect(await deployedStacks()).toEqual([]);
  expect(await readBotUrls()).toEqual({});
  const left = [...(await readTree(join(folder, "production"))).values()];
  expect(left).not.toEqual([]);
  expect(findSecrets(JSON.stringify([printed, left]), secrets)).toEqual([]);
});
