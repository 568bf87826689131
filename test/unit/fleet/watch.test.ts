import { describe, expect, it } from "vitest";
import type { Drift, OtherChange, WebhookReport } from "../../../provider/fleet/reports.ts";
import { watchFleet } from "../../../provider/fleet/watch.ts";
import { CHANGED, failing, NAMES, namesIn, openDeployed, stackAt, type TestFleet } from "./harness.ts";

/** Lets a preview of the first stack see something else of its first workspace. */
function see(fleet: TestFleet, seen: Partial<WebhookReport>, others?: OtherChange[]): void {
  const webhooks = namesIn(fleet, 0).map((workspace, index): WebhookReport => {
    const same = { workspace, change: "same", status: "verified" } as const;
    return index === 0 ? { ...same, ...seen } : same;
  });
  fleet.engine.scripts.set(stackAt(0), () => ({ webhooks, ...(others ? { others } : {}) }));
}

const gone: Drift = { kind: "gone", properties: [] };
const takenOver: Drift = { ...CHANGED, kind: "taken-over" };
const REMOVAL =
  /npx apichat webhook delete --base-url '\S+' --webhook-url '\S+'; then node prod\.ts up --refresh$/;

describe("the watch of a fleet, on a fake engine", () => {
  it.each([
    ["changed", { change: "update", drift: CHANGED }, /^node prod\.ts up --refresh$/],
    ["gone", { change: "create", drift: gone }, /^node prod\.ts up --refresh$/],
    // The program is one for all: it would take over every foreign webhook.
    ["taken-over", { change: "update", drift: takenOver }, REMOVAL],
    ["not-deployed", { change: "create" }, /^node prod\.ts up$/],
    ["not-deployed", { change: "update" }, /^node prod\.ts up$/],
    ["to-be-removed", { change: "delete" }, /^node prod\.ts up, or /],
  ] as const)("reports what is %s, with the properties and what repairs it", async (kind, seen, repair) => {
    const fleet = await openDeployed();
    see(fleet, seen);
    const report = await watchFleet(fleet.context, { command: "node prod.ts" });
    const properties = "drift" in seen ? seen.drift.properties : [];
    expect(report).toMatchObject({
      outcome: "drift",
      workspaces: [
        {
          workspace: fleet.first,
          stack: stackAt(0),
          kind,
          properties,
          repair: expect.stringMatching(repair),
        },
      ],
    });
  });

  it("reports a resource that is not a webhook", async () => {
    const fleet = await openDeployed();
    const other = { name: "responder", type: "pulumi-nodejs:dynamic/apichat:ResponderProcess" } as const;
    see(fleet, { change: "same" }, [{ ...other, change: "delete" }]);
    const report = await watchFleet(fleet.context);
    const repair = "node fleet.ts up --refresh";
    expect(report.others).toEqual([{ ...other, change: "delete", stack: stackAt(0), kind: "other", repair }]);
    expect(report).toMatchObject({ outcome: "drift", workspaces: [] });
  });

  it("fails where a stack failed or was not begun, and reports the drift of the others", async () => {
    const fleet = await openDeployed();
    see(fleet, { change: "update", drift: CHANGED });
    fleet.engine.scripts.set(stackAt(1), failing(1));
    expect(await watchFleet(fleet.context)).toMatchObject({
      outcome: "failed",
      workspaces: [{ workspace: fleet.first, kind: "changed" }],
      failures: [{ stack: stackAt(1) }],
      checked: NAMES.length - namesIn(fleet, 1).length,
    });
    const stopped = await watchFleet(fleet.context, { signal: AbortSignal.abort() });
    expect(stopped).toMatchObject({ outcome: "failed", checked: 0 });
    expect(stopped.skipped).toHaveLength(4);
    expect(stopped.stoppedBy).toBe("interrupted");
  });
});
