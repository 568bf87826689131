import { describe, expect, it } from "vitest";
import { startEmulator, type EmulatorOptions } from "../../../provider/emulator/index.ts";
import { planFleet } from "../../../provider/fleet/plan.ts";
import { upFleet } from "../../../provider/fleet/changes.ts";
import type { ListedWorkspace } from "../../../provider/workspace-list/list-shape.ts";
import { afterTests } from "../../support/http.ts";
import { failureOf } from "../client/harness.ts";
import { listOf, NAMES, namesIn, openDeployed, openTestFleet, stackAt } from "./harness.ts";

const API_KEY = "the-api-key-of-all";
const OURS = "https://chat.example/webhooks/apichat";

/** Starts an emulator, and opens a fleet of the emulator's workspaces. */
async function openOn(options: EmulatorOptions, fields: Partial<ListedWorkspace> = {}) {
  const emulator = await startEmulator(options);
  afterTests(() => emulator.close());
  const common = { webhookUrl: OURS, apiKey: API_KEY, ...fields };
  const places = [...emulator.workspaces.values()];
  const workspaces = places.map(({ name, baseUrl }) => ({ name, baseUrl, ...common }));
  return { ...(await openTestFleet({ workspaces })), emulator };
}

describe("a plan, on a fake engine", () => {
  it("previews each stack, names workspaces that left the list, and writes nothing", async () => {
    const before = await openDeployed();
    const { context, engine } = await before.reopen({ workspaces: listOf([...NAMES.slice(1), "new"]) });
    const written = structuredClone([engine.backend, engine.indexes]);

    const plan = await planFleet(context, { refresh: true });

    expect(plan).toMatchObject({
      removals: NAMES.slice(0, 1),
      // The list of this test has no API key, so the up would fail too.
      outcome: "failed",
      creates: { free: 0, adopted: 0, taken: 0, unknown: 1 },
      failures: [{ workspace: "new", message: expect.stringContaining("apiKey") as string }],
    });
    expect(engine.takeTasks().map(({ action, refresh }) => [action, refresh])).toEqual(
      Array.from({ length: 4 }, () => ["preview", true]),
    );
    expect([engine.backend, engine.indexes]).toEqual(written);
  });

  it("rejects more removals than an up allows, even if only the stacks still contain those workspaces", async () => {
    const before = await openDeployed();
    before.engine.indexes.splice(0);
    const { context } = await before.reopen({ workspaces: listOf(NAMES.slice(11)) });
    const { problems } = await failureOf(planFleet(context, {}));
    expect(problems).toMatchObject([{ field: "maxRemovals" }]);
    expect((await planFleet(context, { maxRemovals: 11 })).removals).toHaveLength(11);
  });

  it("reports the index stack as stale if it is missing or lists a workspace that no stack contains", async () => {
    const fleet = await openTestFleet();
    const readIndex = async (): Promise<string> => (await planFleet(fleet.context, {})).index;
    expect(await readIndex()).toBe("current");
    await upFleet(fleet.context, {});
    expect(await readIndex()).toBe("current");
    const [written] = fleet.engine.indexes.splice(0);
    expect(await readIndex()).toBe("stale");
    await upFleet(fleet.context, {});
    expect(fleet.engine.indexes).toEqual([written]);
    const [gone = ""] = namesIn(fleet, 1);
    fleet.engine.backend.get(stackAt(1))?.delete(gone);
    const workspaces = listOf(NAMES.filter((name) => name !== gone));
    const { context } = await fleet.reopen({ workspaces });
    expect(await planFleet(context, {})).toMatchObject({ index: "stale" });
  });
});

describe("a plan, on the emulator", () => {
  it("fails, as up would, if a workspace's API key is rejected, and names the workspace", async () => {
    const workspaces = [{ name: "acme", apiKey: API_KEY }];
    const { context, onEvent, events } = await openOn({ workspaces }, { apiKey: "another-key" });
    const plan = await planFleet(context, { onEvent });
    expect(plan).toMatchObject({
      outcome: "failed",
      creates: { free: 0, unknown: 1 },
      failures: [{ workspace: "acme", error: { code: "unauthorized" } }],
    });
    expect(events).toContainEqual({ type: "failure", failure: plan.failures[0] });
    expect(JSON.stringify(plan)).not.toContain("another-key");
  });

  it("stops after too many rejected keys; sends no request if it is interrupted before it starts", async () => {
    const workspaces = NAMES.map((name) => ({ name, apiKey: API_KEY }));
    const { context, emulator } = await openOn({ workspaces }, { apiKey: "another-key" });
    const interrupted = await planFleet(context, { signal: AbortSignal.abort() });
    expect(interrupted).toMatchObject({ outcome: "stopped", stoppedBy: "interrupted" });
    expect(emulator.requests.length).toBe(0);
    const plan = await planFleet(context, { stopAfterFailures: 2 });
    expect(plan).toMatchObject({ outcome: "stopped", creates: { unknown: NAMES.length } });
    expect(plan.stoppedBy).toBe("2 failures, the limit");
    expect(emulator.requests.length).toBeLessThan(NAMES.length);
  });

  it.each([
    ["the same token", "?token=0123456789", { adopted: 1, taken: 0 }],
    ["another token", "?token=9876543210", { adopted: 0, taken: 1 }],
  ])("compares our URL with its query, although reports hide the query: %s", async (_, query, expected) => {
    const registration = { webhook_url: OURS + query, webhook_verification_key: "a-verification-key" };
    const workspaces = [{ name: "acme", apiKey: API_KEY, registration }];
    const { context } = await openOn({ workspaces }, { webhookUrl: `${OURS}?token=0123456789` });
    expect((await planFleet(context, {})).creates).toMatchObject(expected);
  });
});
