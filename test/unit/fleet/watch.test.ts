import { describe, expect, it } from "vitest";
import type { Drift, StackReport, WebhookReport } from "../../../provider/fleet/reports.ts";
import { watchFleet } from "../../../provider/fleet/watch.ts";
import { CHANGED } from "./fake-keys.ts";
import { failing } from "./fake-workers.ts";
import { listOf, NAMES, namesIn, openDeployed, openTestFleet, stackAt, type TestFleet } from "./harness.ts";

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

describe("the watch of a fleet, on a fake of the worker processes", () => {
  it("finds no drift where stacks, list and service agree, with previews alone, and writes nothing", async () => {
    const fleet = await openDeployed();
    const before = structuredClone([fleet.workers.backend, fleet.workers.indexes]);

    const report = await watchFleet(fleet.context, { onEvent: fleet.onEvent });

    expect(report).toMatchObject({
      fleet: "test",
      outcome: "no-drift",
      checkedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      workspaces: [],
      checked: NAMES.length,
      failures: [],
      skipped: [],
      calls: {},
      answers429: 0,
    });
    const started = { type: "run-started", action: "watch", stacks: 4, workspaces: NAMES.length };
    expect(fleet.events[0]).toEqual(started);
    const preview = { action: "preview", refresh: true, expectNoChanges: true };
    expect(fleet.workers.begun).toMatchObject([preview, preview, preview, preview]);
    expect([fleet.workers.backend, fleet.workers.indexes]).toEqual(before);
  });

  const UP = "node prod.ts up";
  // With onExisting the program, which is one for all, would take over every foreign webhook.
  const FREE =
    /npx apichat webhook delete --base-url '\S+' --webhook-url '\S+'; then node prod\.ts up --refresh$/;
  it.each([
    ["changed", { change: "update", drift: CHANGED }, `${UP} --refresh`],
    ["gone", { change: "create", drift: gone }, `${UP} --refresh`],
    ["taken-over", { change: "update", drift: takenOver }, expect.stringMatching(FREE)],
    ["not-deployed", { change: "create" }, UP],
    ["not-deployed", { change: "update" }, UP],
    ["to-be-removed", { change: "delete" }, expect.stringContaining(UP)],
  ] as const)(
    "names what is %s, with the properties and the command that repairs it",
    async (kind, seen, repair) => {
      const fleet = await openDeployed();
      const workspace = see(fleet, seen);

      const report = await watchFleet(fleet.context, { command: "node prod.ts" });

      expect(report.outcome).toBe("drift");
      const properties = "drift" in seen ? seen.drift.properties : [];
      expect(report.workspaces).toEqual([{ workspace, stack: stackAt(0), kind, properties, repair }]);
    },
  );

  it.each([
    ["names a resource that is no webhook: that is drift too", undefined, "responder", []],
    [
      "repairs with up --refresh what a responder that is gone changes in webhooks",
      { change: "update" },
      "responder",
      [{ kind: "not-deployed", repair: "node fleet.ts up --refresh" }],
    ],
    [
      "does not name a workspace twice that is not deployed, whose key is missing too",
      { change: "create" },
      "its own",
      [{ kind: "not-deployed" }],
    ],
  ] as const)("%s", async (_, seen, named, workspaces) => {
    const fleet = await openDeployed();
    const workspace = see(fleet, seen ?? {});
    const webhooks = fleet.workers.scripts.get(stackAt(0));
    const name = named === "its own" ? workspace : named;
    const other = { name, type: "pulumi-nodejs:dynamic/apichat:X", change: "create" } as const;
    fleet.workers.scripts.set(stackAt(0), async (options, task) => ({
      ...(await webhooks?.(options, task)),
      others: [other],
    }));

    const report = await watchFleet(fleet.context);

    expect(report).toMatchObject({ outcome: "drift", workspaces });
    const found = { ...other, stack: stackAt(0), kind: "other", repair: "node fleet.ts up --refresh" };
    expect(report.others).toEqual(named === "its own" ? [] : [found]);
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
