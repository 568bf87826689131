import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openFleet } from "../../../provider/fleet/fleet.ts";
import { runFleetProgram } from "../../../provider/fleet/program.ts";
import { fleetReport, stackReport } from "../../support/fleet-reports.ts";
import { answer, definitionOf, folder, program, STACK, takeCalls, useFakePulumi } from "./fake-pulumi.ts";

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
      file: { outputs: { botUrls: { acme: "https://bots.example/b" } } },
    });
  });
});

async function runProgram(source: string, names: string[]): Promise<Record<string, unknown>> {
  await writeFile(program, source);
  const file = join(folder, "given.json");
  const workspaces = names.map((name) => ({ name }));
  await writeFile(
    file,
    JSON.stringify({ program: `file://${program}`, stack: { workspaces }, refuseRandomKeys: false }),
  );
  vi.stubEnv("APICHAT_FLEET_PROGRAM", file);
  vi.spyOn(process, "chdir").mockImplementationOnce(() => undefined);
  try {
    return await runFleetProgram();
  } finally {
    // It has API keys.
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  }
}

describe("the program that the engine runs", () => {
  it("exports bot URLs and statuses, and removes the file that it was given", async () => {
    const source = `export default ({ workspaces }) => Object.fromEntries(workspaces.map(({ name }) => [name, { botUrl: "b-" + name, status: "verified" }]));`;
    expect(await runProgram(source, ["acme"])).toEqual({
      botUrls: { acme: "b-acme" },
      statuses: { acme: "verified" },
    });
  });

  it.each([
    ["has no function", "export default {};", /no function as its default export/],
    ["gives nothing", "export default () => undefined;", /no webhook for w0, w1, w2, w3, w4 and 1 more/],
    ["forgets one", `export default () => ({ w0: { botUrl: "b" } });`, /no webhook for w0, w1/],
  ])("that %s is refused before anything is removed", async (_, source, message) => {
    await expect(runProgram(source, ["w0", "w1", "w2", "w3", "w4", "w5"])).rejects.toThrow(message);
  });
});
