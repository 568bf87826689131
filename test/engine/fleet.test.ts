import { rename } from "node:fs/promises";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import type { HandshakeRecord } from "pulumi-apichat/emulator";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { hasSecretUrl, openFleetScene, PROJECT, readTree, type FleetScene } from "../support/fleet.ts";
import { QUERY_VALUE, registeredWorkspaces, writesSince } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import { createStack } from "../support/stack.ts";

const NAMES = Array.from({ length: 30 }, (_, index) => `customer-${String(index + 1).padStart(2, "0")}`);
/** In the first list only, and from the second on. */
const LEAVER = "leaver";
const NEWCOMER = NAMES[0] ?? "";
const FIRST = [...NAMES.slice(1), LEAVER];
const OCCUPIED = "occupied";
const STRANGER = {
  webhook_url: "https://somebody.example/hook",
  webhook_verification_key: "the-key-of-somebody-else",
};
/** By the index of the stack. */
const WAVE_OF = [0, 1, 1, 2];
const STACKS = [0, 1, 2, 3].map((index) => `production-${index}-of-4`);

let scene: FleetScene;
/** The workspaces of each stack. */
let split: string[][];
/** One of the first stack that is changed by hand. */
let drifted: string;
/** One of the second that somebody else takes over. */
let taken: string;
/** One of the third whose endpoint is down. */
let down: string;
/** Another one of the third, which somebody removes. */
let gone: string;
const journals: string[] = [];
const keys = new Set<string>();

beforeAll(async () => {
  scene = await openFleetScene([...NAMES, LEAVER, OCCUPIED], { name: "production", stacks: 4 });
  split = await scene.withFleet(NAMES, (fleet) =>
    Promise.resolve(fleet.stacks.map(({ workspaces }) => workspaces.map(({ name }) => name))),
  );
  const plain = split.map((names) => names.filter((name) => !hasSecretUrl(name) && name !== NEWCOMER));
  [[drifted = ""] = [], [taken = ""] = [], [down = "", gone = ""] = []] = plain;
  scene.fragile.add(down);
});

const keyOf = (name: string): string | undefined =>
  scene.emulator.workspace(name).registration?.webhook_verification_key;

const botUrlsOf = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.toSorted().map((name) => [name, scene.emulator.workspace(name).botUrl]));

const readBotUrls = (): Promise<Record<string, string>> => scene.withFleet(NAMES, (fleet) => fleet.botUrls());

const requestCount = (): number => scene.emulator.requests.length;

const setWebhooks = (names: readonly string[]): string[] =>
  names.map((name) => `set-webhook ${name}`).toSorted();

const handshakes = (): HandshakeRecord[] =>
  NAMES.flatMap((name) => [...scene.emulator.workspace(name).handshakes]);

/** The wave of each set-webhook since then, in the order in which they reached the service. */
function wavesSince(count: number): number[] {
  const sets = scene.emulator.requests.slice(count).filter(({ action }) => action === "set-webhook");
  return sets.map(
    ({ workspace }) => WAVE_OF[split.findIndex((names) => names.includes(workspace ?? ""))] ?? -1,
  );
}

/** The service has the key that the endpoint was asked with last. */
function expectSharedKeys(names: readonly string[]): void {
  const different = names.filter((name) => keyOf(name) !== scene.tokens.get(name)?.at(-1));
  expect(different).toEqual([]);
  names.forEach((name) => keys.add(keyOf(name) ?? ""));
}

async function keepJournal(): Promise<void> {
  journals.push(...(await readTree(scene.dataDir)).values());
}

const refusal = (text: string) => ({
  code: "invalid_config",
  message: expect.stringContaining(text) as string,
});

describe("30 workspaces in 4 stacks", () => {
  test("plan finds all to create, what is occupied by somebody else, and leaves nothing behind", async () => {
    for (const names of split) expect(names.length).toBeGreaterThan(2);
    scene.emulator.workspace(OCCUPIED).takeOver(STRANGER);
    const plan = await scene.run([...FIRST, OCCUPIED], (fleet, told) => fleet.plan(told));
    expect(plan).toMatchObject({
      outcome: "done",
      totals: { create: 31, update: 0, delete: 0, same: 0 },
      creates: { free: 30, adopted: 0, taken: 1, unknown: 0 },
      removals: [],
      failures: [],
      calls: { "get-webhook": 31 },
    });
    expect(plan.stacks.map(({ stack }) => stack)).toEqual(STACKS);
    expect(JSON.stringify(plan)).not.toContain("somebody.example");
    expect(writesSince(scene, 0)).toEqual([]);
    expect(await scene.stackFiles()).toEqual({});
  });

  test("up registers all of them, each with a key of its own", async () => {
    const report = await scene.run(FIRST, (fleet, told) => fleet.up(told));
    expect(report).toMatchObject({
      outcome: "done",
      failures: [],
      skipped: [],
      calls: { "set-webhook": 30 },
      answers429: 0,
    });
    expect(report.stacks.map(({ stack }) => stack)).toEqual(STACKS);
    expect(registeredWorkspaces(scene).toSorted()).toEqual([...FIRST, OCCUPIED].toSorted());
    expectSharedKeys(FIRST);
    expect(keys.size).toBe(30);
    expect(Object.keys(await scene.stackFiles())).toEqual(
      [...STACKS, "production-index"].map((stack) => `${stack}.json`),
    );
    expect(await readTree(scene.dataDir)).toEqual(new Map());
  });

  test("the index stack has every bot URL, and another stack reads one of them", async () => {
    expect(await readBotUrls()).toEqual(botUrlsOf(FIRST));
    const consumer = await createStack(scene.backend, {
      name: "consumer",
      program: async () => {
        const index = new pulumi.StackReference(`organization/${PROJECT}/production-index`);
        const botUrls = index.requireOutput("botUrls") as pulumi.Output<Record<string, string>>;
        return { botUrl: botUrls.apply((urls) => urls[taken]) };
      },
    });
    await consumer.up();
    const value = scene.emulator.workspace(taken).botUrl;
    expect(await consumer.outputMap()).toEqual({ botUrl: { value, secret: false } });
  });

  test("one added and one removed: both change at the service and in the index, and no other is touched", async () => {
    const count = requestCount();
    const report = await scene.run(NAMES, (fleet, told) => fleet.up(told));
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    const changes = report.stacks.flatMap(({ webhooks }) => webhooks.map(({ change }) => change));
    expect(changes.filter((change) => change === "same")).toHaveLength(29);
    expect(writesSince(scene, count)).toEqual([`delete-webhook ${LEAVER}`, `set-webhook ${NEWCOMER}`]);
    const touched = scene.emulator.requests.slice(count).map(({ workspace }) => workspace);
    expect(new Set(touched)).toEqual(new Set([LEAVER, NEWCOMER]));
    expect(await readBotUrls()).toEqual(botUrlsOf(NAMES));
    expectSharedKeys(NAMES);
  });

  test("too many fewer at once, and another number of stacks, are refused before anything runs", async () => {
    const before = await scene.stackFiles();
    const count = requestCount();
    await scene.withFleet(NAMES.slice(15), (fleet) =>
      expect(fleet.up()).rejects.toMatchObject(refusal("--most-removals 15")),
    );
    await scene.withFleet(
      NAMES,
      async (fleet) => {
        await expect(fleet.up()).rejects.toMatchObject(refusal("stacks: 4"));
        await expect(fleet.destroy()).rejects.toMatchObject(refusal("stacks: 4"));
      },
      { stacks: 5 },
    );
    expect(requestCount()).toBe(count);
    expect(await scene.stackFiles()).toEqual(before);
  });

  test("a stack of which a kill has left only the copy is refused", async () => {
    const state = join(scene.backend.folder, ".pulumi", "stacks", PROJECT, `${STACKS[1]}.json`);
    await rename(state, `${state}.bak`);
    await expect(scene.run(NAMES, (fleet, told) => fleet.up(told))).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(`${PROJECT}/${STACKS[1]}.json.bak`) as string,
    });
    await rename(`${state}.bak`, state);
  });
});

describe("the service changes behind the fleet's back", () => {
  const changedUrl = "https://changed.example/hook";

  test("watch names what drifted with both values, what is gone and what is taken over, and writes nothing", async () => {
    scene.emulator.workspace(drifted).change({ webhook_url: changedUrl });
    scene.emulator.workspace(down).change({ webhook_status: "failed" });
    scene.emulator.workspace(gone).remove();
    scene.emulator.workspace(taken).takeOver(STRANGER);
    const before = await scene.stackFiles();
    const count = requestCount();
    const report = await scene.run(NAMES, (fleet, told) => fleet.watch(told));
    expect(report).toMatchObject({ outcome: "drift", checked: 30, failures: [] });
    const found = new Map(report.workspaces.map(({ workspace, ...rest }) => [workspace, rest]));
    expect([...found.keys()].toSorted()).toEqual([drifted, down, gone, taken].toSorted());
    const url = { property: "webhookUrl", expected: `${scene.endpoint.url}/${drifted}`, actual: changedUrl };
    expect(found.get(drifted)).toMatchObject({ stack: STACKS[0], kind: "changed", properties: [url] });
    expect(found.get(taken)).toMatchObject({
      stack: STACKS[1],
      kind: "taken-over",
      properties: [
        { property: "webhookUrl", actual: STRANGER.webhook_url },
        { property: "webhookVerificationKey", expected: "[secret]", actual: "[secret]" },
      ],
    });
    expect(found.get(gone)).toMatchObject({ stack: STACKS[2], kind: "gone" });
    expect(found.get(down)).toMatchObject({
      kind: "changed",
      properties: [{ property: "status", expected: "verified", actual: "failed" }],
    });
    expect(writesSince(scene, count)).toEqual([]);
    expect(await scene.stackFiles()).toEqual(before);
  });

  test("up with refresh repairs it, and fails for the one taken over and the one whose endpoint is down", async () => {
    await scene.second.stop();
    const count = requestCount();
    const report = await scene.run(NAMES, (fleet, told) => fleet.up({ refresh: true, ...told }));
    expect(report.outcome).toBe("failed");
    expect(new Map(report.failures.map(({ workspace, message }) => [workspace, message]))).toEqual(
      new Map([
        [down, expect.stringContaining("ECONNREFUSED") as string],
        [taken, expect.stringContaining(STRANGER.webhook_url) as string],
      ]),
    );
    expect(report.stacks.map(({ outcome }) => outcome)).toEqual(["done", "failed", "failed", "done"]);
    expect(writesSince(scene, count)).toEqual(setWebhooks([drifted, gone]));
    expect(scene.emulator.workspace(taken).registration).toMatchObject(STRANGER);
    expect(await readBotUrls()).toEqual(botUrlsOf(NAMES));
    await keepJournal();
  });

  test("after fixing, up with resume does what is left and nothing twice", async () => {
    await scene.second.start();
    scene.emulator.workspace(taken).remove();
    const count = requestCount();
    const report = await scene.run(NAMES, (fleet, told) =>
      fleet.up({ refresh: true, resume: true, ...told }),
    );
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(new Map(report.skipped.map(({ stack, why }) => [stack, why]))).toEqual(
      new Map([
        [STACKS[0], "done-before"],
        [STACKS[3], "done-before"],
      ]),
    );
    expect(writesSince(scene, count)).toEqual(setWebhooks([down, taken]));
    expectSharedKeys(NAMES);
    expect(await readBotUrls()).toEqual(botUrlsOf(NAMES));
    expect(await readTree(scene.dataDir)).toEqual(new Map());
  });
});

describe("the keys of all are rotated", () => {
  const rotation = "2026-12";
  let before: Map<string, string | undefined>;
  let count: number;
  let refused: string;

  const newKeys = (): string[] => NAMES.filter((name) => keyOf(name) !== before.get(name));

  test("one stack goes first, and a wave that fails is the last", async () => {
    before = new Map(NAMES.map((name) => [name, keyOf(name)]));
    count = requestCount();
    refused = split[1]?.at(-1) ?? "";
    scene.refused.add(refused);
    const report = await scene.run(NAMES, (fleet, told) => fleet.rotate({ rotation, waveSize: 2, ...told }));
    expect(report.waves.map(({ stacks, outcome }) => [stacks, outcome])).toEqual([
      [[STACKS[0]], "done"],
      [[STACKS[1], STACKS[2]], "failed"],
      [[STACKS[3]], "stopped"],
    ]);
    expect(report).toMatchObject({ outcome: "failed", failures: [{ workspace: refused }] });
    const rotated = split
      .slice(0, 3)
      .flat()
      .filter((name) => name !== refused)
      .toSorted();
    expect(report.keys).toEqual({ new: rotated, old: split[3]?.toSorted(), unsure: [refused] });
    expect(newKeys()).toEqual(rotated);
    expect(wavesSince(count)).toEqual([
      ...(split[0] ?? []).map(() => 0),
      ...rotated.slice(split[0]?.length).map(() => 1),
    ]);
    await keepJournal();
  });

  test("after fixing, it goes on to the end; each webhook was set once, and no handshake failed", async () => {
    scene.refused.clear();
    const report = await scene.run(NAMES, (fleet, told) =>
      fleet.rotate({ resume: true, waveSize: 2, ...told }),
    );
    expect(report).toMatchObject({ outcome: "done", rotation, failures: [] });
    expect(report.waves.map(({ stacks, outcome }) => [stacks, outcome])).toEqual([
      [[STACKS[1], STACKS[2]], "done"],
      [[STACKS[3]], "done"],
    ]);
    expect(report.keys).toEqual({ new: NAMES, old: [], unsure: [] });
    expect(newKeys()).toEqual(NAMES);
    expect(writesSince(scene, count)).toEqual(setWebhooks(NAMES));
    const waves = wavesSince(count);
    expect(waves).toEqual(waves.toSorted((a, b) => a - b));
    expect(handshakes().filter(({ verdict }) => verdict === "failed")).toEqual([]);
    expectSharedKeys(NAMES);
    expect(keys.size).toBe(2 * NAMES.length + 1);
  });

  test("afterwards watch finds no drift", async () => {
    const report = await scene.run(NAMES, (fleet, told) => fleet.watch(told));
    expect(report).toMatchObject({ outcome: "no-drift", checked: 30, workspaces: [], failures: [] });
  });
});

describe("in the end", () => {
  let backend: Map<string, string>;

  test("destroy removes every webhook but the one of somebody else, and every stack", async () => {
    backend = await readTree(join(scene.backend.folder, ".pulumi"));
    scene.emulator.workspace(taken).takeOver(STRANGER);
    const report = await scene.run(NAMES, (fleet, told) => fleet.destroy(told));
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(registeredWorkspaces(scene)).toEqual([taken, OCCUPIED]);
    expect(scene.emulator.workspace(taken).registration).toMatchObject(STRANGER);
    expect(await scene.stackFiles()).toEqual({});
    expect(await readBotUrls()).toEqual({});
  });

  test("no secret is in a report, an event, a journal or the backend", () => {
    const secrets = [API_KEY, QUERY_VALUE, STRANGER.webhook_verification_key, ...keys];
    expect(journals.length).toBe(2);
    expect(findSecrets(JSON.stringify([scene.told, journals]), secrets)).toEqual([]);
    expect([...backend.keys()].filter((path) => path.endsWith("-of-4.json")).length).toBeGreaterThan(3);
    expect(
      [...backend].filter(([, text]) => findSecrets(text, secrets).length > 0).map(([path]) => path),
    ).toEqual([]);
  });
});
