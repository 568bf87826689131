import { describe, expect, it } from "vitest";
import type { Drift, StackReport, WebhookReport } from "../../../provider/fleet/reports.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { watchFleet, type DriftReport } from "../../../provider/fleet/watch.ts";
import { CHANGED } from "./fake-keys.ts";
import { failing } from "./fake-workers.ts";
import { listOf, NAMES, namesIn, openTestFleet, stackAt, type TestFleet } from "./harness.ts";

async function openDeployed(): Promise<TestFleet> {
  const fleet = await openTestFleet();
  await upFleet(fleet.context, {});
  fleet.workers.begun.length = 0;
  return fleet;
}

const same = (workspace: string): WebhookReport => ({ workspace, change: "same", status: "verified" });

/** Has a look at the first stack see something else of its first workspace. */
function see(fleet: TestFleet, seen: Partial<WebhookReport>): string {
  const [first = "", ...others] = namesIn(fleet, 0);
  fleet.workers.scripts.set(stackAt(0), () => ({
    webhooks: [{ ...same(first), ...seen }, ...others.map(same)],
  }));
  return first;
}

const gone: Drift = { kind: "gone", properties: [] };
const takenOver: Drift = { ...CHANGED, kind: "taken-over" };

const repairOf = ({ workspaces }: DriftReport): string => workspaces[0]?.repair ?? "";

describe("the watch of a fleet, on a fake of the worker processes", () => {
  it("finds no drift where the stacks, the list and the service agree", async () => {
    const fleet = await openDeployed();

    const report = await watchFleet(fleet.context, { onEvent: fleet.onEvent });

    expect(report).toMatchObject({
      fleet: "test",
      outcome: "no-drift",
      workspaces: [],
      checked: NAMES.length,
      failures: [],
      skipped: [],
      calls: {},
      answers429: 0,
    });
    expect(report.checkedAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(fleet.events[0]).toEqual({
      type: "run-started",
      action: "watch",
      stacks: 4,
      workspaces: NAMES.length,
    });
  });

  it("only looks: each task is a preview with a refresh, and nothing is written", async () => {
    const fleet = await openDeployed();
    const before = structuredClone([fleet.workers.backend, fleet.workers.indexes]);

    await watchFleet(fleet.context);

    expect(fleet.workers.begun).toHaveLength(4);
    for (const task of fleet.workers.begun) {
      expect(task).toMatchObject({ action: "preview", refresh: true, expectNoChanges: true });
    }
    expect([fleet.workers.backend, fleet.workers.indexes]).toEqual(before);
  });

  it.each([
    ["changed", { change: "update", drift: CHANGED }],
    ["gone", { change: "create", drift: gone }],
    ["taken-over", { change: "update", drift: takenOver }],
    ["not-deployed", { change: "create" }],
    ["not-deployed", { change: "update" }],
    ["to-be-removed", { change: "delete" }],
  ] as const)("tells what is %s, with the properties and the command that repairs it", async (kind, seen) => {
    const fleet = await openDeployed();
    const workspace = see(fleet, seen);

    const report = await watchFleet(fleet.context, { command: "node prod.ts" });

    expect(report.outcome).toBe("drift");
    const properties = "drift" in seen ? seen.drift.properties : [];
    expect(report.workspaces).toEqual([
      { workspace, stack: stackAt(0), kind, properties, repair: expect.stringContaining("node prod.ts up") },
    ]);
  });

  it("repairs with up --refresh what the service shows, and with up what the list says", async () => {
    const fleet = await openDeployed();

    see(fleet, { change: "update", drift: CHANGED });
    expect(repairOf(await watchFleet(fleet.context))).toBe("node fleet.ts up --refresh");
    see(fleet, { change: "create" });
    expect(repairOf(await watchFleet(fleet.context))).toBe("node fleet.ts up");
    see(fleet, { change: "update", drift: takenOver });
    const repair = repairOf(await watchFleet(fleet.context));
    // The program is one for all: it would take over every foreign webhook.
    expect(repair).not.toContain("onExisting");
    expect(repair).toMatch(
      /npx apichat webhook delete --base-url '\S+' --webhook-url '\S+'; then node fleet\.ts up --refresh$/,
    );
  });

  it("tells of a resource that is no webhook: that is drift too", async () => {
    const fleet = await openDeployed();
    const other = { name: "responder", type: "pulumi-nodejs:dynamic/apichat:HandshakeResponder" } as const;
    fleet.workers.scripts.set(stackAt(0), () => ({
      webhooks: namesIn(fleet, 0).map(same),
      others: [{ ...other, change: "create" }],
    }));

    const report = await watchFleet(fleet.context);

    expect(report).toMatchObject({ outcome: "drift", workspaces: [], checked: NAMES.length });
    expect(report.others).toEqual([
      { ...other, change: "create", stack: stackAt(0), kind: "other", repair: "node fleet.ts up --refresh" },
    ]);
  });

  it("repairs with up --refresh what a responder that is gone changes in webhooks", async () => {
    const fleet = await openDeployed();
    see(fleet, { change: "update" });
    const seen = fleet.workers.scripts.get(stackAt(0));
    fleet.workers.scripts.set(stackAt(0), async (options, task) => ({
      ...(await seen?.(options, task)),
      others: [{ name: "responder", type: "t", change: "create" }],
    }));

    expect(repairOf(await watchFleet(fleet.context))).toBe("node fleet.ts up --refresh");
  });

  it("does not tell twice of a workspace that is not deployed, whose key is missing too", async () => {
    const fleet = await openDeployed();
    const [name = "", ...others] = namesIn(fleet, 0);
    fleet.workers.scripts.set(stackAt(0), () => ({
      webhooks: [{ workspace: name, change: "create" }, ...others.map(same)],
      others: [{ name, type: "pulumi-nodejs:dynamic/apichat:VerificationKey", change: "create" }],
    }));

    const report = await watchFleet(fleet.context);

    expect(report.workspaces).toMatchObject([{ workspace: name, kind: "not-deployed" }]);
    expect(report.others).toEqual([]);
  });

  it("makes no stack that does not exist: its workspaces are not deployed", async () => {
    const fleet = await openTestFleet();

    const report = await watchFleet(fleet.context);

    expect(fleet.workers.begun).toEqual([]);
    expect(fleet.workers.backend.size).toBe(0);
    expect(report).toMatchObject({ outcome: "drift", checked: 0 });
    expect(report.workspaces.map(({ workspace, kind }) => [workspace, kind])).toEqual(
      NAMES.toSorted().map((name) => [name, "not-deployed"]),
    );
  });

  it("looks at a stack whose workspaces have all left the list", async () => {
    const deployed = await openDeployed();
    const left = namesIn(deployed, 2);
    const fleet = await deployed.reopen({ workspaces: listOf(NAMES.filter((name) => !left.includes(name))) });

    const report = await watchFleet(fleet.context);

    expect(report.workspaces).toEqual(
      left.toSorted().map((workspace) => ({
        workspace,
        stack: stackAt(2),
        kind: "to-be-removed",
        properties: [],
        repair: expect.stringContaining("node fleet.ts up"),
      })),
    );
  });

  it("lets a failure win over drift, and tells both", async () => {
    const fleet = await openDeployed();
    const drifted = see(fleet, { change: "update", drift: CHANGED });
    fleet.workers.scripts.set(stackAt(1), failing(1));

    const report = await watchFleet(fleet.context);

    expect(report.outcome).toBe("failed");
    expect(report.workspaces).toMatchObject([{ workspace: drifted, kind: "changed" }]);
    expect(report.failures).toHaveLength(1);
    expect(report.checked).toBe(NAMES.length - namesIn(fleet, 1).length);
  });

  it("fails when it is interrupted, and says which stacks it did not look at", async () => {
    const fleet = await openDeployed();

    const report = await watchFleet(fleet.context, { signal: AbortSignal.abort() });

    expect(report).toMatchObject({ outcome: "failed", checked: 0 });
    expect(report.skipped).toHaveLength(4);
    expect(report.stoppedBy).toContain("watch again");
  });

  // What the provider and this process report is data: test/unit/fleet/repair.test.ts.
  it.each([
    ["error: incorrect passphrase", "PULUMI_CONFIG_PASSPHRASE"],
    ["error: PULUMI_ACCESS_TOKEN must be set for login", "pulumi login"],
    ["something else", "fix what the message says"],
  ])("says what to do about the failure %j", async (message, hint) => {
    const fleet = await openDeployed();
    const [workspace = ""] = namesIn(fleet, 0);
    const failed = (): Partial<StackReport> => ({
      outcome: "failed",
      failures: [{ workspace, stack: stackAt(0), message }],
    });
    fleet.workers.scripts.set(stackAt(0), failed);

    const { failures } = await watchFleet(fleet.context);

    expect(failures).toEqual([
      { workspace, stack: stackAt(0), message, repair: expect.stringContaining(hint) },
    ]);
  });
});
