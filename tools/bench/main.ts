/** `npm run bench`: measures the package against what it is built on. `--help` says more. */
import { Command, InvalidArgumentError, Option } from "commander";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { WORKSPACES_PER_STACK } from "../../dist/provider/fleet/fleet.js";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { withProgress } from "../lib/progress.mjs";
import { formatFigures, readFigures, summarizeRuns, writeFigures } from "./fleet-figures.ts";
import { isReached, type Measurement, type RowContext, type Turns } from "./measure.ts";
import { describeMachine, formatMachine, formatTable } from "./report.ts";
import { clientRows } from "./rows/client.ts";
import { emulatorRow } from "./rows/emulator.ts";
import { engineRows } from "./rows/engine.ts";
import { createFleetRows } from "./rows/fleet.ts";
import { processRows } from "./rows/processes.ts";
import { responderProgramRows } from "./rows/responder-program.ts";
import { responderRows } from "./rows/responder.ts";
import { signatureRows } from "./rows/signature.ts";

const fleet = createFleetRows();
const ROWS = [
  ...signatureRows,
  ...clientRows,
  ...responderRows,
  ...responderProgramRows,
  emulatorRow,
  ...processRows,
  ...engineRows,
  ...fleet.rows,
];
const NAMES = ROWS.map(({ name }) => name);
const MISSED = 1;
const NOT_MEASURED = 2;

const countUpTo =
  (most: number) =>
  (text: string): number => {
    const count = Number(text);
    if (Number.isInteger(count) && count >= 1 && count <= most) return count;
    throw new InvalidArgumentError(`Must be a whole number from 1 to ${most}.`);
  };

const command = new Command("npm run bench --")
  .description("Measures this package against what it is built on, in one run, and prints the ratios.")
  .addOption(new Option("--only <row...>", "only these rows").choices(NAMES).default(NAMES, "all"))
  .option("--webhooks <n>", "webhooks of the engine row: fewer for a quick look", countUpTo(9999), 200)
  .option("--rounds <n>", "repetitions of the engine row", countUpTo(9999), 3)
  .option("--workspaces <n>", "workspaces of the row fleet", countUpTo(9999), 1000)
  .option("--stack-size <n>", "workspaces of a stack of the fleet", countUpTo(9999), WORKSPACES_PER_STACK)
  .option("--fleet-rounds <n>", "repetitions of the row fleet", countUpTo(9999), 1)
  .option(
    "--plot",
    "write the numbers of the rows fleet, ten-times and curve to tools/bench/results/fleet.json, and their plot to docs/images/fleet.svg",
  )
  .option("--redraw", "only draw that plot again from its numbers")
  .option("--json [file]", "keep the results as JSON; without a file on stdout, and the table on stderr")
  .addHelpText(
    "after",
    `
Exit code: 0 if every target is reached, 1 if one is missed, 2 if something could not be measured.
NO_COLOR=1 leaves colours out.`,
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_MEASURED));

interface Options extends Omit<RowContext, keyof Turns | "engineRounds"> {
  only: string[];
  rounds: number;
  plot?: true;
  redraw?: true;
  json?: true | string;
}

await runTool(async () => {
  const { only, plot, redraw, json, rounds, ...counts } = command.parse().opts<Options>();
  if (redraw) {
    await writeFigures(await readFigures());
    return 0;
  }
  const signal = abortOnSignals();
  const machine = await describeMachine(signal);
  const measurements: Measurement[] = [];
  for (const row of ROWS.filter(({ name }) => only.includes(name))) {
    const measure = (update: (detail: string) => void): Promise<Measurement[]> =>
      row.measure({ ...counts, engineRounds: rounds, signal, update });
    measurements.push(...(await withProgress(row.title, measure)));
  }
  const figures = fleet.runs.length > 0 ? summarizeRuns(fleet.runs, machine) : undefined;
  const print = json === true ? console.error : console.log;
  print(`\n${formatMachine(machine)}`);
  if (measurements.length > 0) print(`\n${formatTable(measurements)}`);
  if (figures) print(`\n${formatFigures(figures)}`);
  if (figures && plot) await writeFigures(figures);
  if (json) {
    const results = measurements.map((measurement) => ({ ...measurement, reached: isReached(measurement) }));
    const content = { at: new Date(), machine, results, fleet: figures?.sizes };
    const text = `${JSON.stringify(content, undefined, 2)}\n`;
    if (json === true) process.stdout.write(text);
    else await writeFile(json, text);
  }
  return measurements.every(isReached) ? 0 : MISSED;
}, NOT_MEASURED);
