import { describe, expect, it } from "vitest";
import { openFleet } from "../../../provider/fleet/fleet.ts";
import { fleetReport, stackReport } from "../../support/fleet-reports.ts";
import { answer, definitionOf, STACK, takeCalls, useFakePulumi } from "./fake-pulumi.ts";

useFakePulumi();

const STACKS = (...names: string[]) => ({
  lines: [JSON.stringify(names.map((name) => ({ name: `org/p/${name}` })))],
});

describe("a fleet", () => {
  it.each([
    ["of 500 workspaces is new", 500, [], 1],
    ["of 501 workspaces is new", 501, [], 2],
    ["has stacks", 501, ["test-2-of-7", "test-index"], 7],
    ["is not the one that has stacks", 1, ["other-2-of-7"], 1],
  ])("that %s: stacks from the list, or from the backend", async (_, count, existing, stacks) => {
    await answer({ "stack ls": STACKS(...existing) });
    const workspaces = Array.from({ length: count }, (_one, index) => ({
      name: `w${index}`,
      baseUrl: `https://a.example/${index}`,
    }));
    const { stacks: _stacks, ...definition } = definitionOf({ workspaces });
    expect((await openFleet(definition)).stacks).toHaveLength(stacks);
  });

  it("gives the bot URLs of its index stack, and records there what shares report", async () => {
    const before = { botUrls: { acme: "https://bots.example/a" }, stackOf: { acme: STACK } };
    await answer({ "stack ls": STACKS("test-index"), "stack output": { lines: [JSON.stringify(before)] } });
    const fleet = await openFleet(definitionOf());
    expect(await fleet.botUrls()).toEqual(before.botUrls);
    await takeCalls();
    const webhooks = [{ workspace: "acme", change: "same", botUrl: "https://bots.example/b" } as const];
    const report = fleetReport({ stacks: [stackReport(STACK, {}, { webhooks })] });
    expect(await fleet.recordIndex(report)).toEqual(report);
    expect((await takeCalls()).at(-1)).toMatchObject({
      program: { outputs: { botUrls: { acme: "https://bots.example/b" } } },
    });
  });
});
