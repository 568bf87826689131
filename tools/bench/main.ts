/** `npm run bench`: measures the package against what it is built on. `--help` says more. */
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { abortOnSignals, runTool } from "../setup/run.mjs";
import { withProgress } from "../setup/progress.mjs";
import { parseArgs } from "node:util";
import { formatFigures, summarizeRuns } from "./fleet-figures.ts";
import { readFigures, writeFigures } from "./fleet-plot.ts";
import { isReached, type Measurement } from "./measure.ts";
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

const USAGE = `npm run bench -- [options]

Measures this package against what it is built on, in one run, and prints the ratios.

  --only <row>       only this row; may be repeated:
                     ${NAMES.join(" ")}
  --webhooks <n>     webhooks of the engine row, default 200: fewer for a quick look
  --rounds <n>       repetitions of the engine row, default 3
  --workspaces <n>   workspaces of the rows fleet and one-stack, default 1000
  --fleet-rounds <n> repetitions of the row fleet, default 1
  --plot             write the numbers of the rows fleet and one-stack to tools/bench/results/fleet.json, and
                     their plot to docs/images/fleet.svg
  --redraw           only draw that plot again from its numbers
  --json [file]      keep the results as JSON; without a file on stdout, and the table on stderr
  --help             this text

Exit code: 0 if every target is reached, 1 if one is missed, 2 if something could not be measured.
NO_COLOR=1 leaves colours out.`;

/** The emulator keeps 10,000 requests, and each workspace takes four: with more, the calls could not be counted. */
const MOST_WORKSPACES = 2500;

/** Throws an error with a clear text for options that are not known. */
function parseOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: "boolean", short: "h", default: false },
      only: { type: "string", multiple: true, default: NAMES },
      webhooks: { type: "string", default: "200" },
      rounds: { type: "string", default: "3" },
      workspaces: { type: "string", default: "1000" },
      "fleet-rounds": { type: "string", default: "1" },
      plot: { type: "boolean", default: false },
      redraw: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  const [jsonFile, ...others] = positionals;
  const stray = values.json ? others[0] : jsonFile;
  if (stray !== undefined) throw new Error(`${stray}: not known; see --help`);
  const unknown = values.only.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: must be one of ${NAMES.join(", ")}`);
  const parseCount = (name: "webhooks" | "rounds" | "workspaces" | "fleet-rounds"): number => {
    const count = Number(values[name]);
    const most = name === "workspaces" ? MOST_WORKSPACES : 9999;
    if (Number.isInteger(count) && count >= 1 && count <= most) return count;
    throw new Error(`--${name} ${values[name]}: must be a whole number from 1 to ${most}`);
  };
  const counts = {
    webhooks: parseCount("webhooks"),
    engineRounds: parseCount("rounds"),
    workspaces: parseCount("workspaces"),
    fleetRounds: parseCount("fleet-rounds"),
  };
  return { ...values, jsonFile, counts };
}

await runTool(async () => {
  const { help, redraw, only, counts, json, jsonFile, plot } = parseOptions();
  if (help) console.log(USAGE);
  if (redraw) await writeFigures(await readFigures());
  if (help || redraw) return 0;
  const signal = abortOnSignals();
  const machine = await describeMachine(signal);
  const measurements: Measurement[] = [];
  for (const row of ROWS.filter(({ name }) => only.includes(name))) {
    const measure = (update: (detail: string) => void): Promise<Measurement[]> =>
      row.measure({ ...counts, signal, update });
    measurements.push(...(await withProgress(row.title, measure)));
  }
  const figures = fleet.runs.length > 0 ? summarizeRuns(fleet.runs, machine) : undefined;
  const print = json && jsonFile === undefined ? console.error : console.log;
  print(`\n${formatMachine(machine)}`);
  if (measurements.length > 0) print(`\n${formatTable(measurements)}`);
  if (figures) print(`\n${formatFigures(figures)}`);
  if (figures && plot) await writeFigures(figures);
  if (json) {
    const results = measurements.map((measurement) => ({ ...measurement, reached: isReached(measurement) }));
    const content = { at: new Date(), machine, results, fleet: figures?.sizes };
    const text = `${JSON.stringify(content, undefined, 2)}\n`;
    if (jsonFile === undefined) process.stdout.write(text);
    else await writeFile(jsonFile, text);
  }
  return measurements.every(isReached) ? 0 : MISSED;
}, NOT_MEASURED);
