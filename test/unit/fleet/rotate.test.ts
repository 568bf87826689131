import { expect, describe, it } from "vitest";
import type { FleetEvent } from "../../../provider/fleet/options.ts";
import { rotateFleet } from "../../../provider/fleet/rotate.ts";
import { failureOf } from "../client/harness.ts";
import { CHANGED, failing, listOf, NAMES, openDeployed, stackAt, webhookWith } from "./harness.ts";

const options = { rotation: "2026-12", waveSize: 2, stacksAtOnce: 2 };

describe("the rotation of a fleet, on a fake engine", () => {
  it("stops after the first stack if the verification finds drift", async () => {
    const fleet = await openDeployed();
    const seen = { workspace: fleet.first, change: "update", drift: CHANGED } as const;
    fleet.engine.scripts.set(stackAt(0), ({ action }) => (action === "preview" ? { webhooks: [seen] } : {}));

    const report = await rotateFleet(fleet.context, { ...options, onEvent: fleet.onEvent });

    const message = expect.stringMatching(/differs from what was set \(changed\): webhookUrl$/) as string;
    const failure = { workspace: fleet.first, stack: stackAt(0), message };
    expect(report).toMatchObject({ outcome: "failed", failures: [failure] });
    expect(fleet.events.filter(({ type }) => type === "failure")).toEqual([{ type: "failure", failure }]);
    expect(report.waves.map(({ outcome }) => outcome)).toEqual(["failed", "stopped", "stopped"]);
  });

  it("before anything runs, rejects derived keys that the rotation would not change", async () => {
    const fleet = await openDeployed();
    const webhookVerificationKey = { derivedFrom: "a seed", rotations: ["2026-09"] };
    const { context, engine } = await fleet.reopen({ webhook: webhookWith(webhookVerificationKey) });
    const { code, message } = await failureOf(rotateFleet(context, options));
    expect(code).toBe("invalid_config");
    expect(message).toMatch(/^webhook: for \w+, .*webhook must return a different one/);
    expect(engine.takeBegun()).toEqual([]);
  });

  it("stops after the first stack if `webhook` returns the same string key as before", async () => {
    const fleet = await openDeployed();
    const { context, engine } = await fleet.reopen({ webhook: webhookWith("0123456789abcdefghij") });
    const { failures } = await rotateFleet(context, options);
    expect(failures[0]?.message).toContain("webhook must return a different one");
    expect(engine.takeBegun()).toEqual([`up ${stackAt(0)}`, `preview ${stackAt(0)}`]);
  });

  it("finishes work in progress after an interruption, and reports no wave as failed", async () => {
    const fleet = await openDeployed();
    const interrupt = new AbortController();
    let ended = 0;
    const onEvent = ({ type }: FleetEvent): void => {
      // The first wave runs its stack twice: for the up, and for the preview that verifies it.
      if (type === "stack-ended" && (ended += 1) === 2) interrupt.abort();
    };
    const report = await rotateFleet(fleet.context, { ...options, onEvent, signal: interrupt.signal });
    expect(report).toMatchObject({ outcome: "stopped", stoppedBy: "interrupted", failures: [] });
    expect(report.waves.map(({ outcome }) => outcome)).toEqual(["done", "stopped", "stopped"]);
    expect(report.skipped.map(({ stack }) => stack)).toEqual([1, 2, 3].map(stackAt));
  });

  it.each([
    ["a workspace that is not deployed", [...NAMES, "new"], /not deployed yet: new\b/],
    ["a workspace that left the list", NAMES.slice(1), /no longer in the list: w0\b/],
  ])("rejects %s", async (_, names, message) => {
    const fleet = await openDeployed();
    const { context, engine } = await fleet.reopen({ workspaces: listOf(names) });
    const error = await failureOf(rotateFleet(context, options));
    expect(error).toMatchObject({ code: "invalid_config", message: expect.stringMatching(message) });
    expect(engine.takeBegun()).toEqual([]);
  });
});

describe("the name of a rotation", () => {
  it("defaults to today's date; rotating again under the same name changes nothing", async () => {
    const fleet = await openDeployed();
    const { rotation } = await rotateFleet(fleet.context, {});
    expect(rotation).toMatch(/^\d{4}-\d\d-\d\d$/);
    const again = await rotateFleet(fleet.context, { rotation });
    expect(again.outcome).toBe("done");
    const changes = again.stacks.flatMap(({ webhooks }) => webhooks.map(({ change }) => change));
    expect(new Set(changes)).toEqual(new Set(["same"]));
  });

  it("must be the first of the definition's rotations, if there are any", async () => {
    const fleet = await openDeployed();
    const { context, engine } = await fleet.reopen({ rotations: ["2026-12", "2026-09"] });
    const refused = await failureOf(rotateFleet(context, { rotation: "2027-01" }));
    expect(refused).toMatchObject({ code: "invalid_config", message: expect.stringContaining('"2026-12"') });
    engine.scripts.set(stackAt(0), failing(1));
    expect(await rotateFleet(context, {})).toMatchObject({ rotation: "2026-12", outcome: "failed" });
    const next = await fleet.reopen({ rotations: ["2027-01", "2026-12"] });
    const { message } = await failureOf(rotateFleet(next.context, {}));
    expect(message).toContain('run "rotate" with "2026-12" as the first of rotations');
  });
});
