import { beforeAll, describe, expect, test } from "vitest";
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

const NAMES = Array.from({ length: 10 }, (_, index) => `customer-${String(index + 1).padStart(2, "0")}`);
/** In the first list only. */
const LEAVER = "former";
/** From the second list on. */
const NEWCOMER = "customer-06";
const FIRST = [...NAMES.filter((name) => name !== NEWCOMER), LEAVER];
const STRANGER = {
  webhook_url: "https://somebody.example/hook",
  webhook_verification_key: "the-key-of-somebody-else",
};
const STACKS = [0, 1].map((index) => `production-${index}-of-2`);
const INDEX = "production-index";
const rotation = "2026-12";

const setWebhooks = (names: readonly string[]): string[] =>
  names.map((name) => `set-webhook ${name}`).toSorted();

describe("10 workspaces in 2 stacks", () => {
  let scene: FleetScene;
  /** A workspace of the first stack that is changed by hand. */
  let drifted: string;
  /** A workspace of the first stack that somebody removes. */
  let gone: string;
  /** A workspace of the second stack that somebody else takes over. */
  let taken: string;
  /** A workspace of the second stack whose endpoint is down. */
  let down: string;
  const keys = new Set<string>();

  beforeAll(async () => {
    scene = await openFleetScene([...NAMES, LEAVER], { name: "production", stacks: 2 });
    const { stacks } = await scene.open(NAMES);
    const known = stacks.map(({ workspaces }) =>
      workspaces.map(({ name }) => name).filter((name) => name !== NEWCOMER),
    );
    [[drifted = "", gone = ""] = [], [taken = "", down = ""] = []] = known;
    expect([gone, down]).not.toContain("");
    scene.fragile.add(down);
  });

  const keyOf = (name: string): string | undefined =>
    scene.emulator.workspace(name).registration?.webhook_verification_key;
  const botUrlsOf = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.toSorted().map((name) => [name, scene.emulator.workspace(name).botUrl]));
  const readBotUrls = async (): Promise<Record<string, string>> => (await scene.open(NAMES)).botUrls();
  const requestCount = (): number => scene.emulator.requests.length;

  /** Checks that the registered key is the one of the endpoint's last handshake. */
  const expectSharedKeys = (names: readonly string[]): void => {
    expect(names.filter((name) => keyOf(name) !== scene.tokens.get(name)?.at(-1))).toEqual([]);
    names.forEach((name) => keys.add(keyOf(name) ?? ""));
  };

  test("up registers every workspace with its own key, and writes the index of bot URLs", async () => {
    const report = await scene.run(FIRST, (fleet, options) => fleet.up(options));
    expect(report).toMatchObject({ outcome: "done", failures: [], skipped: [] });
    expect(writesSince(scene, 0)).toEqual(setWebhooks(FIRST));
    expect(report.stacks.map(({ stack }) => stack)).toEqual(STACKS);
    expect(registeredWorkspaces(scene).toSorted()).toEqual(FIRST.toSorted());
    expectSharedKeys(FIRST);
    expect(keys.size).toBe(FIRST.length);
    expect(await scene.deployedStacks()).toEqual([...STACKS, INDEX]);
    expect(await readBotUrls()).toEqual(botUrlsOf(FIRST));
  });

  test("up with refresh adds, removes and repairs, and fails for a takeover and an endpoint that is down", async () => {
    scene.emulator.workspace(drifted).change({ webhook_url: "https://changed.example/hook" });
    scene.emulator.workspace(down).change({ webhook_status: "failed" });
    scene.emulator.workspace(gone).removeRegistration();
    scene.emulator.workspace(taken).takeOver(STRANGER);
    await scene.second.stop();
    const count = requestCount();
    const report = await scene.run(NAMES, (fleet, options) => fleet.up({ refresh: true, ...options }));
    expect(report.outcome).toBe("failed");
    expect(new Map(report.failures.map(({ workspace, message }) => [workspace, message]))).toEqual(
      new Map([
        [down, expect.stringContaining("ECONNREFUSED") as string],
        [taken, expect.stringContaining(STRANGER.webhook_url) as string],
      ]),
    );
    expect(report.stacks.map(({ outcome }) => outcome)).toEqual(["done", "failed"]);
    const done = [...setWebhooks([drifted, gone, NEWCOMER]), `delete-webhook ${LEAVER}`];
    expect(writesSince(scene, count)).toEqual(done.toSorted());
    expect(scene.emulator.workspace(taken).registration).toMatchObject(STRANGER);
    expectSharedKeys([NEWCOMER]);
    expect(await readBotUrls()).toEqual(botUrlsOf(NAMES));
  });

  test("a rotation sets each webhook once in its wave, including those that the up has skipped", async () => {
    await scene.second.start();
    scene.emulator.workspace(taken).removeRegistration();
    const count = requestCount();
    const report = await scene.run(NAMES, (fleet, options) =>
      fleet.rotate({ rotation, waveSize: 1, ...options }),
    );
    expect(report).toMatchObject({ outcome: "done", rotation, failures: [] });
    expect(report.waves.map(({ stacks, outcome }) => [stacks, outcome])).toEqual(
      STACKS.map((stack) => [[stack], "done"]),
    );
    expect(writesSince(scene, count)).toEqual(setWebhooks(NAMES));
    const handshakes = NAMES.flatMap((name) => [...scene.emulator.workspace(name).handshakes]);
    expect(handshakes.filter(({ verdict }) => verdict === "failed")).toEqual([]);
    expectSharedKeys(NAMES);
    expect(keys.size).toBe(2 * NAMES.length + 1);
  });

  test("destroy removes the webhooks and the index, but keeps somebody else's webhook", async () => {
    const secrets = [API_KEY, QUERY_VALUE, STRANGER.webhook_verification_key, ...keys];
    await expectCleanBackend(scene.backend, secrets);

    scene.emulator.workspace(taken).takeOver(STRANGER);
    const report = await scene.run(NAMES, (fleet, options) => fleet.destroy(options));
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(registeredWorkspaces(scene)).toEqual([taken]);
    expect(scene.emulator.workspace(taken).registration).toMatchObject(STRANGER);
    expect(await scene.deployedStacks()).toEqual([]);
    expect(await readBotUrls()).toEqual({});
    const left = [...(await readTree(scene.workFolder)).values()];
    expect(left).not.toEqual([]);
    expect(findSecrets(JSON.stringify([scene.printed, left]), secrets)).toEqual([]);
  });
});
