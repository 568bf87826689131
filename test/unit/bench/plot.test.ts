import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { readFigures, resultFiles } from "../../../tools/bench/fleet/results.ts";
import { drawFleetPlot } from "../../../tools/plot/fleet-plot.ts";

const figures = await readFigures(resultFiles.figures);

describe("the plot of the fleet's benchmark", () => {
  it("is drawn from the numbers that stand beside it: node tools/plot/main.ts draws it again", async () => {
    expect(await readFile(resultFiles.plot, "utf8")).toBe(await drawFleetPlot(figures));
  });

  it("is the same each time in one process", async () => {
    expect(await drawFleetPlot(figures)).toBe(await drawFleetPlot(figures));
  });

  it("shows another number differently", async () => {
    const sizes = figures.sizes.map((size, index) =>
      index === 0 ? { ...size, upSeconds: size.upSeconds * 2 } : size,
    );
    expect(await drawFleetPlot({ ...figures, sizes })).not.toBe(await drawFleetPlot(figures));
  });

  it("names each split and both axes with their units, on a background of its own", async () => {
    const plot = await drawFleetPlot(figures);
    const texts = [...plot.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
    expect(texts).toEqual(
      expect.arrayContaining([
        "one stack",
        "one stack, PULUMI_SKIP_CHECKPOINTS",
        "fleet",
        "workspaces",
        "time of pulumi up (seconds)",
        "peak memory of all processes (MiB)",
      ]),
    );
    expect(plot).toContain('<rect width="');
    expect(plot).toContain('fill="white"');
  });

  it("leaves the memory out where it could not be measured", async () => {
    const sizes = structuredClone(figures.sizes);
    for (const size of sizes) delete size.peakMebibytes;
    expect(await drawFleetPlot({ ...figures, sizes })).not.toContain("memory");
  });
});
