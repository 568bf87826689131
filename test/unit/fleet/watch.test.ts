import { expect, it } from "vitest";
import type { Drift, StackReport, WebhookReport } from "../../../provider/fleet/reports.ts";
import { watchFleet, type DriftKind } from "../../../provider/fleet/watch.ts";
import { CHANGED, failing, NAMES, namesIn, openDeployed, stackAt, type TestFleet } from "./harness.ts";

/** Makes previews report this for the first workspace of the first stack, and no change for the others. */
function see(fleet: TestFleet, seen: Partial<WebhookReport>, keys?: StackReport["keys"]): void {
  const webhooks = namesIn(fleet, 0).map((workspace, index): WebhookReport => {
    const same = { workspace, change: "same" } as const;
    return index === 0 ? { ...same, ...seen } : same;
  });
  fleet.engine.scripts.set(stackAt(0), () => ({ webhooks, ...(keys ? { keys } : {}) }));
}

const gone: Drift = { kind: "gone", properties: [] };
const takenOver: Drift = { ...CHANGED, kind: "taken-over" };

it.each<[DriftKind, Partial<WebhookReport>, key?: WebhookReport["change"]]>([
  ["changed", { change: "update", drift: CHANGED }],
  ["gone", { change: "create", drift: gone }],
  ["taken-over", { change: "update", drift: takenOver }],
  ["not-deployed", { change: "create" }],
  ["not-deployed", { change: "update" }],
  ["to-be-removed", { change: "delete" }],
  ["not-deployed", { change: "same" }, "update"],
  ["to-be-removed", { change: "same" }, "delete"],
  ["gone", { change: "create", drift: gone }, "create"],
])("a watch reports %s if a preview reports %j, and %j for the key", async (kind, seen, change) => {
  const fleet = await openDeployed();
  see(fleet, seen, change && [{ workspace: fleet.first, change }]);
  const properties = seen.drift?.properties ?? [];
  expect(await watchFleet(fleet.context)).toMatchObject({
    outcome: "drift",
    workspaces: [{ workspace: fleet.first, stack: stackAt(0), kind, properties }],
  });
});

it("a watch fails if a stack fails or is not started, but reports the drift of the other stacks", async () => {
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
