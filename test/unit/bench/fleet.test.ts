import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import {
  drawFleetPlot,
  formatFigures,
  readFigures,
  resultFiles,
  summarizeRuns,
  type SplitRun,
} from "../../../tools/bench/fleet-figures.ts";

const machine = { cores: 2, processor: "any", node: "v24", engine: "3.259.0", loadBefore: 0 };
const oneStack: SplitRun = {
  split: "oneStack",
  workspaces: 1000,
  stacks: 1,
  seconds: { up: 130, refresh: 6, destroy: 20 },
  calls: 4000,
  peakMebibytes: 1500,
};
const fleet: SplitRun = { ...oneStack, split: "fleet", stacks: 8, seconds: { up: 40, watch: 9 } };

describe("the numbers of the fleet's benchmark", () => {
  it("are the medians of each split and size, in the order of the plot, whatever was run first", () => {
    const runs = [40, 41, 90].map((up) => ({ ...fleet, seconds: { ...fleet.seconds, up } }));
    const figures = summarizeRuns([...runs, oneStack, { ...oneStack, workspaces: 50 }], machine);
    expect(figures.sizes).toMatchObject([
      { split: "oneStack", workspaces: 50, runs: 1 },
      { split: "oneStack", workspaces: 1000, runs: 1, seconds: oneStack.seconds, peakMebibytes: 1500 },
      { split: "fleet", workspaces: 1000, runs: 3, seconds: { up: 41, watch: 9 } },
    ]);
    expect(formatFigures(figures)).toMatch(/fleet +│ 1000 +│ 8 +│ 41 s +│ +│ 9 s +│ +│ +│ 4000 +│ 1500 MiB/);
  });
});

describe("the plot of the fleet's benchmark", () => {
  it("is drawn from the numbers in tools/bench/results (else run: node tools/bench/main.ts --redraw)", async () => {
    const plot = drawFleetPlot(await readFigures());
    expect(await readFile(resultFiles.plot, "utf8")).toBe(plot);
    expect(plot).toContain(">peak memory of all processes (MiB)</text>");
  });

  it("leaves the memory out where it could not be measured", () => {
    const { peakMebibytes: _, ...run } = oneStack;
    expect(drawFleetPlot(summarizeRuns([run], machine))).not.toContain("peak memory of all");
  });
});
