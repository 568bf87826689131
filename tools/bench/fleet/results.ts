import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { drawFleetPlot } from "../../plot/fleet-plot.ts";
import type { FleetFigures } from "./figures.ts";

const folder = new URL("../results/", import.meta.url);

/** The numbers that docs/figures.md shows, and their plot. */
export const resultFiles = {
  figures: fileURLToPath(new URL("fleet.json", folder)),
  plot: fileURLToPath(new URL("../../../docs/images/fleet.svg", import.meta.url)),
};

/** Keeps the numbers and draws them. Gives the files that it wrote. */
export async function writeFigures(figures: FleetFigures): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  await writeFile(resultFiles.figures, `${JSON.stringify(figures, undefined, 2)}\n`);
  await writeFile(resultFiles.plot, await drawFleetPlot(figures));
  return Object.values(resultFiles);
}

export async function readFigures(file: string): Promise<FleetFigures> {
  return JSON.parse(await readFile(file, "utf8")) as FleetFigures;
}
