/** `npm run bench`: measures the package against what it is built on. `--help` says more. */
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { abortOnSignals, Interrupted } from "../setup/run.mjs";
import { withProgress } from "../setup/progress.mjs";
import { clientRow, messageClientRow } from "./client.ts";
import { commandLineRow } from "./command-line.ts";
import { emulatorRow } from "./emulator.ts";
import { engineRow } from "./engine.ts";
import { formatFigures, summarizeRuns, type FleetFigures } from "./fleet/figures.ts";
import { writeFigures } from "./fleet/results.ts";
import { createFleetRows } from "./fleet/rows.ts";
import { heapRow } from "./heap.ts";
import { loadingRow } from "./loading.ts";
import { logLineRow } from "./log-line.ts";
import { describeMachine, formatMachine, type Machine } from "./machine.ts";
import { manyWorkspacesRow } from "./many-workspaces.ts";
import { isReached, type Measurement } from "./measurement.ts";
import { parseOptions, USAGE, type BenchOptions } from "./options.ts";
import { refusedBodiesRow } from "./refused-bodies.ts";
import { responderRow } from "./responder.ts";
import { signatureRow } from "./signature.ts";
import { slowConnectionsRow } from "./slow-connections.ts";
import { spoolRow } from "./spool.ts";
import { stateRow } from "./state.ts";
import { formatTable } from "./table.ts";
import { workerBundleRow } from "./worker-bundle.ts";
import { workerdRow } from "./workerd.ts";

const fleet = createFleetRows();
const ROWS = [
  signatureRow,
  workerdRow,
  workerBundleRow,
  clientRow,
  messageClientRow,
  responderRow,
  heapRow,
  logLineRow,
  spoolRow,
  slowConnectionsRow,
  refusedBodiesRow,
  emulatorRow,
  commandLineRow,
  loadingRow,
  stateRow,
  engineRow,
  manyWorkspacesRow,
  ...fleet.rows,
];
const MISSED = 1;
const NOT_MEASURED = 2;

async function runRows(options: BenchOptions, signal: AbortSignal): Promise<Measurement[]> {
  const { only, webhooks, engineRounds, workspaces, fleetRounds } = options;
  const measurements: Measurement[] = [];
  for (const row of ROWS.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const measure = (update: (detail: string) => void): Promise<Measurement[]> =>
      row.measure({ webhooks, engineRounds, workspaces, fleetRounds, signal, update });
    measurements.push(...(await withProgress(row.title, measure)));
  }
  return measurements;
}

interface Results {
  machine: Machine;
  measurements: Measurement[];
  /** Of the fleet's rows, if one was run. */
  figures: FleetFigures | undefined;
}

async function report(
  { json, jsonFile, plot }: BenchOptions,
  { machine, measurements, figures }: Results,
): Promise<void> {
  const print = json && jsonFile === undefined ? console.error : console.log;
  print(`\n${formatMachine(machine)}`);
  if (measurements.length > 0) print(`\n${formatTable(measurements)}`);
  if (figures) print(`\n${formatFigures(figures)}`);
  if (figures && plot) print(`\nwrote ${(await writeFigures(figures)).join(" and ")}`);
  if (!json) return;
  const results = measurements.map((measurement) => ({ ...measurement, reached: isReached(measurement) }));
  const text = `${JSON.stringify({ at: new Date(), machine, results, fleet: figures?.sizes }, undefined, 2)}\n`;
  if (jsonFile === undefined) process.stdout.write(text);
  else await writeFile(jsonFile, text);
}

async function main(): Promise<number> {
  const options = parseOptions(
    process.argv.slice(2),
    ROWS.map(({ name }) => name),
  );
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const signal = abortOnSignals();
  const machine = await describeMachine(signal);
  const measurements = await runRows(options, signal);
  const figures = fleet.runs.length > 0 ? summarizeRuns(fleet.runs, machine) : undefined;
  await report(options, { machine, measurements, figures });
  return measurements.every(isReached) ? 0 : MISSED;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Interrupted)) console.error(error instanceof Error ? error.message : error);
  process.exitCode = error instanceof Interrupted ? error.exitCode : NOT_MEASURED;
}
