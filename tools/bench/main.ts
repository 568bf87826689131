/** `npm run bench`: measures the package against what it is built on. `--help` says more. */
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { abortOnSignals, Interrupted } from "../setup/processes.mjs";
import { withProgress } from "../setup/progress.mjs";
import { clientRow, messageClientRow } from "./client.ts";
import { commandLineRow } from "./command-line.ts";
import { emulatorRow } from "./emulator.ts";
import { engineRow } from "./engine.ts";
import { heapRow } from "./heap.ts";
import { loadingRow } from "./loading.ts";
import { describeMachine, formatMachine, type Machine } from "./machine.ts";
import { isReached, type Measurement } from "./measurement.ts";
import { parseOptions, USAGE, type BenchOptions } from "./options.ts";
import { responderRow } from "./responder.ts";
import { signatureRow } from "./signature.ts";
import { slowConnectionsRow } from "./slow-connections.ts";
import { spoolRow } from "./spool.ts";
import { stateRow } from "./state.ts";
import { formatTable } from "./table.ts";
import { workerBundleRow } from "./worker-bundle.ts";
import { workerdRow } from "./workerd.ts";

const ROWS = [
  signatureRow,
  workerdRow,
  workerBundleRow,
  clientRow,
  messageClientRow,
  responderRow,
  heapRow,
  spoolRow,
  slowConnectionsRow,
  emulatorRow,
  commandLineRow,
  loadingRow,
  stateRow,
  engineRow,
];
const MISSED = 1;
const NOT_MEASURED = 2;

async function runRows(options: BenchOptions, signal: AbortSignal): Promise<Measurement[]> {
  const { only, webhooks, engineRounds } = options;
  const measurements: Measurement[] = [];
  for (const row of ROWS.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const measure = (update: (detail: string) => void): Promise<Measurement[]> =>
      row.measure({ webhooks, engineRounds, signal, update });
    measurements.push(...(await withProgress(row.title, measure)));
  }
  return measurements;
}

async function report(
  { json, jsonFile }: BenchOptions,
  { machine, measurements }: { machine: Machine; measurements: Measurement[] },
): Promise<void> {
  const print = json && jsonFile === undefined ? console.error : console.log;
  print(`\n${formatMachine(machine)}\n\n${formatTable(measurements)}`);
  if (!json) return;
  const results = measurements.map((measurement) => ({ ...measurement, reached: isReached(measurement) }));
  const text = `${JSON.stringify({ at: new Date(), machine, results }, undefined, 2)}\n`;
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
  await report(options, { machine, measurements });
  return measurements.every(isReached) ? 0 : MISSED;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Interrupted)) console.error(error instanceof Error ? error.message : error);
  process.exitCode = error instanceof Interrupted ? error.exitCode : NOT_MEASURED;
}
