import { describe, expect, it } from "vitest";
import type { Drift, StackReport, WebhookReport } from "../../../provider/fleet/reports.ts";
import { watchFleet } from "../../../provider/fleet/watch.ts";
import { CHANGED, failing, NAMES, namesIn, openDeployed, stackAt, type TestFleet } from "./harness.ts";

/** Changes the preview of the first workspace in the first stack. */
function see(fleet: TestFleet, seen: Partial<WebhookReport>, keys?: StackReport["keys"]): void {
  const webhooks = namesIn(fleet, 0).map((workspace, index): WebhookReport => {
    const same = { workspace, change: "same" } as const;
    return index === 0 ? { ...same, ...seen } : same;
  });
  fleet.engine.scripts.set(stackAt(0), () => ({ webhooks, ...(keys ? { keys } : {}) }));
}

const gone: Drift = { kind: "gone", properties: [] };
const takenOver: Drift = { ...CHANGED, kind: "taken-over" };

describe("the watch of a fleet, on a fake engine", () => {
  it.each([
    ["changed", { change: "update", drift: CHANGED }],
    ["gone", { change: "create", drift: gone }],
    ["taken-over", { change: "update", drift: takenOver }],
    ["not-deployed", { change: "create" }],
    ["not-deployed", { change: "update" }],
    ["to-be-removed", { change: "delete" }],
  ] as const)("reports a webhook that is %s, with its properties", async (kind, seen) => {
    const fleet = await openDeployed();
    see(fleet, seen);
    const properties = "drift" in seen ? seen.drift.properties : [];
    expect(await watchFleet(fleet.context)).toMatchObject({
      outcome: "drift",
      workspaces: [{ workspace: fleet.first, stack: stackAt(0), kind, properties }],
    });
  });

  it.each([
    ["update", "same", undefined, "not-deployed"],
    ["delete", "same", undefined, "to-be-removed"],
    ["create", "create", gone, "gone"],
  ] as const)("reports a key that an up would %s, under its workspace", async (own, change, drift, kind) => {
    const fleet = await openDeployed();
    const key = { workspace: fleet.first, change: own };
    see(fleet, { change, ...(drift && { drift }) }, [key]);
    expect(await watchFleet(fleet.context)).toMatchObject({
      outcome: "drift",
      workspaces: [{ workspace: fleet.first, stack: stackAt(0), kind }],
    });
  });

  it("fails if a stack failed or was not started, and reports the drift of the others", async () => {
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
