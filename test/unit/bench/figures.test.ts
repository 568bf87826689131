import { describe, expect, it } from "vitest";
import { formatFigures, summarizeRuns } from "../../../tools/bench/fleet/figures.ts";
import type { SplitRun } from "../../../tools/bench/fleet/place.ts";

const machine = { cores: 2, processor: "any", node: "v24", engine: "3.259.0", loadBefore: 0 };
const oneStack: SplitRun = {
  split: "oneStack",
  workspaces: 1000,
  stacks: 1,
  upSeconds: 130,
  refreshSeconds: 6,
  peakBytes: 1500 * 2 ** 20,
  upCalls: { "get-webhook": 2000, "set-webhook": 1000 },
  refreshCalls: { "get-webhook": 1000 },
  indexedBotUrls: undefined,
};
const fleet: SplitRun = { ...oneStack, split: "fleet", stacks: 8, upSeconds: 40, indexedBotUrls: 1000 };

describe("the numbers of the fleet's benchmark", () => {
  it("are the medians of the runs of one split and size", () => {
    const runs = [fleet, { ...fleet, upSeconds: 41 }, { ...fleet, upSeconds: 90 }];
    expect(summarizeRuns(runs, machine).sizes).toEqual([
      expect.objectContaining({ split: "fleet", runs: 3, upSeconds: 41, upCalls: 3000 }),
    ]);
  });

  it("come in the order of the plot, small sizes first, whatever was run first", () => {
    const { sizes } = summarizeRuns([fleet, oneStack, { ...oneStack, workspaces: 50 }], machine);
    expect(sizes.map(({ split, workspaces }) => [split, workspaces])).toEqual([
      ["oneStack", 50],
      ["oneStack", 1000],
      ["fleet", 1000],
    ]);
  });

  it("make a Markdown table", () => {
    expect(formatFigures(summarizeRuns([oneStack, fleet], machine)).split("\n")).toEqual([
      "| split     | workspaces | stacks | `up`    | `refresh` | peak memory | calls of `up`, `refresh` | bot URLs in the index |",
      "| --------- | ---------- | ------ | ------- | --------- | ----------- | ------------------------ | --------------------- |",
      "| one stack | 1,000      | 1      | 130.0 s | 6.0 s     | 1,500 MiB   | 3,000, 1,000             |                       |",
      "| fleet     | 1,000      | 8      | 40.0 s  | 6.0 s     | 1,500 MiB   | 3,000, 1,000             | 1,000                 |",
    ]);
  });

  it("have no column of the memory where none was measured", () => {
    const table = formatFigures(summarizeRuns([{ ...oneStack, peakBytes: undefined }], machine));
    expect(table).not.toContain("peak memory");
    expect(table.split("\n").map((line) => line.split("|").length)).toEqual([9, 9, 9]);
  });
});
