import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { drawFleetPlot, readFigures, resultFiles } from "../../../tools/bench/fleet/plot.ts";

const figures = await readFigures();

describe("the plot of the fleet's benchmark", () => {
  it("is drawn from the numbers in tools/bench/results (else run: node tools/bench/main.ts --redraw)", async () => {
    expect(await readFile(resultFiles.plot, "utf8")).toBe(drawFleetPlot(figures));
  });

  it("shows another number differently", () => {
    const sizes = figures.sizes.map((size, index) =>
      index === 0 ? { ...size, upSeconds: size.upSeconds * 2 } : size,
    );
    expect(drawFleetPlot({ ...figures, sizes })).not.toBe(drawFleetPlot(figures));
  });

  it("names each split and both axes with their units, on a background of its own", () => {
    const plot = drawFleetPlot(figures);
    for (const text of [
      "one stack",
      "one stack, PULUMI_SKIP_CHECKPOINTS",
      "fleet",
      "workspaces",
      "time of pulumi up (seconds)",
      "peak memory of all processes (MiB)",
    ]) {
      expect(plot).toContain(`>${text}</text>`);
    }
    expect(plot).toMatch(/<rect [^>]*fill="white"/);
  });

  it("leaves the memory out where it could not be measured", () => {
    const sizes = structuredClone(figures.sizes);
    for (const size of sizes) delete size.peakMebibytes;
    expect(drawFleetPlot({ ...figures, sizes })).not.toContain("peak memory of all");
  });
});
