/** Draws the fleet's plot again from its numbers: `node tools/plot/main.ts [figures.json] [plot.svg]`. */
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { readFigures, resultFiles } from "../bench/fleet/results.ts";
import { drawFleetPlot } from "./fleet-plot.ts";

const [figures = resultFiles.figures, plot = resultFiles.plot] = process.argv.slice(2);
await writeFile(plot, await drawFleetPlot(await readFigures(figures)));
console.log(`wrote ${plot}`);
