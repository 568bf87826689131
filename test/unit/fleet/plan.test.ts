import { afterEach, describe, expect, it, vi } from "vitest";
import { startEmulator, type Emulator, type EmulatorOptions } from "../../../provider/emulator/index.ts";
import { planFleet } from "../../../provider/fleet/plan.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import type { ListedWorkspace } from "../../../provider/workspace-list/entry-shape.ts";
import { afterTests } from "../client/harness.ts";
import { failing } from "./fake-workers.ts";
import { listOf, NAMES, namesIn, openDeployed, openTestFleet, stackAt, type TestFleet } from "./harness.ts";

const API_KEY = "the-api-key-of-all";
const OURS = "https://chat.example/webhooks/apichat";
const FOREIGN = "https://somebody-else.example/hook";

async function startService(options: EmulatorOptions): Promise<Emulator> {
  const emulator = await startEmulator(options);
  afterTests(() => emulator.close());
  return emulator;
}

const registered = (name: string, webhook_url: string) => ({
  name,
  apiKey: API_KEY,
  registration: { webhook_url, webhook_verification_key: "a-verification-key" },
});

const listAt = (emulator: Emulator, fields: Partial<ListedWorkspace> = {}): ListedWorkspace[] =>
  [...emulator.workspaces.values()].map(({ name, baseUrl }) => ({
    name,
    baseUrl,
    webhookUrl: OURS,
    apiKey: API_KEY,
    ...fields,
  }));

/** Resources that are to be created, by the names of their classes. */
const ofTypes = (...types: string[]) =>
  types.map(
    (type) => ({ name: "a", type: `pulumi-nodejs:dynamic/apichat:${type}`, change: "create" }) as const,
  );

describe("a plan, on a fake of the worker processes", () => {
  it("adds up what each stack would do, and names who left the list", async () => {
    const before = await openDeployed();
    const [gone = ""] = namesIn(before, 2);
    const left = NAMES.filter((name) => name !== gone);
    const { context, workers } = await before.reopen({ workspaces: listOf([...left, "new"]) });
    workers.takeBegun();

    const plan = await planFleet(context, {});

    expect(plan).toMatchObject({
      fleet: "test",
      outcome: "done",
      totals: { create: 1, update: 0, delete: 1, same: NAMES.length - 1 },
      removals: [gone],
      // The list of this test has no API key.
      creates: { free: 0, adopted: 0, taken: 0, unknown: 1 },
    });
    expect(plan.stacks.find(({ stack }) => stack === stackAt(2))).toMatchObject({ delete: 1, failures: [] });
    expect(workers.begun.map((task) => [task.stack, task.action])).toEqual(
      [0, 1, 2, 3].map((index) => [stackAt(index), "preview"]),
    );
  });

  it("names who left the list also where the preview failed, and refuses none of them", async () => {
    const before = await openDeployed();
    const [kept = ""] = namesIn(before, 0);
    const { context, workers } = await before.reopen({ workspaces: listOf([kept]) });
    workers.scripts.set(stackAt(1), failing(1));

    const plan = await planFleet(context, {});

    expect(plan.outcome).toBe("failed");
    expect(plan.failures).toHaveLength(1);
    expect(plan.removals).toEqual(NAMES.filter((name) => name !== kept).toSorted());
  });

  it("says that the index stack is stale after a run that was killed before it wrote it, and up writes it", async () => {
    const killed = await openTestFleet();
    expect((await planFleet(killed.context, {})).index).toBe("current");
    await upFleet(killed.context, {});
    expect((await planFleet(killed.context, {})).index).toBe("current");
    const [written] = killed.workers.indexes;
    killed.workers.indexes.length = 0;
    const fleet = await killed.reopen();

    expect(await planFleet(fleet.context, {})).toMatchObject({
      totals: { create: 0, update: 0, delete: 0, same: NAMES.length },
      index: "stale",
    });
    await upFleet(fleet.context, {});

    expect(fleet.workers.indexes).toEqual([written]);
    expect((await planFleet(fleet.context, {})).index).toBe("current");
  });

  it("counts the resources that change besides the webhooks", async () => {
    const { context, workers } = await openTestFleet();
    const others = ofTypes("ResponderProcess", "VerificationKey", "VerificationKey", "Other");
    workers.scripts.set(stackAt(1), () => ({ others }));
    workers.scripts.set(stackAt(2), () => ({ others: ofTypes("ResponderProcess") }));

    const plan = await planFleet(context, { refresh: true });

    expect(workers.begun[0]).toMatchObject({ action: "preview", refresh: true });
    expect([...workers.backend.keys()], "a plan writes no index").toEqual([]);
    expect(plan.others).toEqual([
      { kind: "key", change: "create", count: 2 },
      { kind: "other resource", change: "create", count: 1 },
      { kind: "responder", change: "create", count: 2 },
    ]);
    expect(plan.stacks.map((stack) => stack.others)).toEqual([0, 4, 1, 0]);
  });
});

describe("a plan's look at what would be created, on the emulator and a fake of the worker processes", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("counts what is free, ours and somebody else's, and names nobody's registration", async () => {
    const emulator = await startService({
      workspaces: [
        { name: "free-1", apiKey: API_KEY },
        { name: "free-2", apiKey: API_KEY },
        registered("ours", `${OURS}/`),
        registered("foreign", FOREIGN),
      ],
    });
    const { context } = await openTestFleet(listAt(emulator));

    const plan = await planFleet(context, {});

    expect(plan.creates).toEqual({ free: 2, adopted: 1, taken: 1, unknown: 0 });
    expect(plan.calls).toEqual({ "get-webhook": 4 });
    expect(JSON.stringify(plan)).not.toContain("somebody-else");
  });

  it("fails where the key is refused, as up would, and says so of each workspace and in sum", async () => {
    const emulator = await startService({
      workspaces: ["acme", "globex"].map((name) => ({ name, apiKey: API_KEY })),
    });
    const { context, onEvent, events } = await openTestFleet(listAt(emulator, { apiKey: "another-key" }));

    const plan = await planFleet(context, { onEvent });

    expect(plan).toMatchObject({ outcome: "failed", creates: { free: 0, unknown: 2 } });
    expect(plan.unknownReasons).toEqual([
      { reason: "unauthorized (HTTP 401)", code: "unauthorized", count: 2 },
    ]);
    expect(new Set(plan.failures.map(({ workspace }) => workspace))).toEqual(new Set(["acme", "globex"]));
    expect(plan.stacks.flatMap(({ failures }) => failures)).toHaveLength(2);
    expect(events.filter(({ type }) => type === "failure")).toHaveLength(2);
    expect(JSON.stringify(plan)).not.toContain("another-key");
  });

  it("asks no further when the keys that are refused are too many", async () => {
    const emulator = await startService({
      workspaces: NAMES.map((name) => ({ name, apiKey: API_KEY })),
    });
    const { context } = await openTestFleet(listAt(emulator, { apiKey: "another-key" }));

    const plan = await planFleet(context, { stopAfterFailures: 2, callsPerOrigin: 1 });

    expect(plan).toMatchObject({ outcome: "failed", creates: { unknown: NAMES.length } });
    expect(plan.stoppedBy).toContain("--stop-after-failures");
    expect(plan.calls["get-webhook"]).toBeLessThan(NAMES.length);
    expect(plan.unknownReasons.map(({ reason }) => reason)).toContain("not looked at: the plan was stopped");
  });

  it("says why it is unknown what stands there, without a URL", async () => {
    const emulator = await startService({
      workspaces: [{ name: "acme", apiKey: API_KEY }],
      faults: [{ operation: "get-webhook", fault: { status: 400 } }],
    });
    const { context } = await openTestFleet(listAt(emulator));

    const plan = await planFleet(context, {});

    expect(plan.outcome).toBe("done");
    expect(plan.unknownReasons).toEqual([{ reason: "rejected (HTTP 400)", code: "rejected", count: 1 }]);
  });

  it("takes the API key of the environment for workspaces without one", async () => {
    const emulator = await startService({ workspaces: [{ name: "acme", apiKey: API_KEY }] });
    const { context } = await openTestFleet(listAt(emulator, { apiKey: undefined }));
    vi.stubEnv("APICHAT_API_KEY", undefined);

    expect((await planFleet(context, {})).creates).toMatchObject({ unknown: 1 });

    const given = { ...context, environment: { APICHAT_API_KEY: API_KEY } };
    expect((await planFleet(given, {})).creates).toMatchObject({ free: 1 });

    vi.stubEnv("APICHAT_API_KEY", API_KEY);
    expect((await planFleet(context, {})).creates).toMatchObject({ free: 1 });
  });

  it.each([
    ["the same token", "?token=0123456789", { adopted: 1, taken: 0 }],
    ["another token", "?token=9876543210", { adopted: 0, taken: 1 }],
  ])("tells our URL with %s in its query, which the report hides", async (_, query, expected) => {
    const emulator = await startService({ workspaces: [registered("acme", OURS + query)] });
    const fleet = await openTestFleet(listAt(emulator, { webhookUrl: `${OURS}?token=0123456789` }));
    hideQueries(fleet);

    expect((await planFleet(fleet.context, {})).creates).toMatchObject(expected);
  });

  it("looks at nothing after the previews were stopped", async () => {
    const emulator = await startService({ workspaces: [{ name: "acme", apiKey: API_KEY }] });
    const fleet = await openTestFleet(listAt(emulator));

    const plan = await planFleet(fleet.context, { signal: AbortSignal.abort() });

    expect(plan).toMatchObject({ outcome: "stopped", calls: {} });
    expect(plan.stoppedBy).toContain("run plan again");
  });

  it("stops with the budget for HTTP 429, and says so", async () => {
    const emulator = await startService({
      workspaces: [{ name: "acme", apiKey: API_KEY }],
      faults: [{ operation: "get-webhook", fault: { status: 429 } }],
    });
    const { context } = await openTestFleet(listAt(emulator));

    const plan = await planFleet(context, { most429: 1 });

    expect(plan).toMatchObject({ outcome: "stopped", creates: { unknown: 1 }, answers429: 1 });
    expect(plan.stoppedBy).toContain("429");
  });
});

/** As the worker does, which takes the URL from the engine's events. */
function hideQueries({ workers }: TestFleet): void {
  const run = workers.run.bind(workers);
  workers.run = async (task, options) => {
    const report = await run(task, options);
    const webhooks = report.webhooks.map((webhook) => ({ ...webhook, webhookUrl: `${OURS}?token=***` }));
    return { ...report, webhooks };
  };
}
