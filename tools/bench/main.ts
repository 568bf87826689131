/** `npm run bench`: measures the package against the code that it is built on. See `--help`. */
import { Command, Option } from "commander";
import { availableParallelism, cpus, loadavg } from "node:os";
import process from "node:process";
import { parseWholeNumber } from "../../dist/provider/cli/option-values.js";
import { formatTable } from "../../dist/provider/cli/table.js";
import { resolveEngine } from "../engine/resolve.ts";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { quantile, type Context } from "./measure.ts";
import { format, isReached, ROWS, valuesOf, type Figure } from "./rows.ts";

const NAMES = Object.keys(ROWS);
const MISSED = 1;
const NOT_MEASURED = 2;
const parseCount = parseWholeNumber(1, 10_000, "from 1 to 10000");

const command = new Command("npm run bench --")
  .description("Measures this package against what it is built on, in one run, and prints the ratios.")
  .addOption(new Option("--only <row...>", "only these rows").choices(NAMES).default(NAMES, "all"))
  .option("--workspaces <n>", "number of workspaces in the fleet row", parseCount, 1000)
  .addHelpText(
    "after",
    `
Exit code: 0 if every target is met, 1 if one is missed, 2 if something could not be measured.
Set NO_COLOR=1 to print without colours.`,
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_MEASURED));

await runTool(async () => {
  const { only, workspaces } = command.parse().opts<{ only: string[]; workspaces: number }>();
  const signal = abortOnSignals();
  const machine = await describeMachine(signal);
  const results: Result[] = [];
  for (const [name, { takes, measure, figures }] of Object.entries(ROWS)) {
    if (!only.includes(name)) continue;
    const measureRow = (update: Context["update"]) => measure({ workspaces, signal, update });
    const samples = await withProgress(`${name}: ${takes}`, measureRow);
    results.push(...figures.map((figure) => ({ figure, values: valuesOf(figure, samples) })));
  }
  console.log(`\n${machine}, a fleet of ${workspaces} workspaces\n`);
  console.log(formatResults(results));
  return results.every(({ figure, values }) => isReached(figure, quantile(values, 0.5))) ? 0 : MISSED;
}, NOT_MEASURED);

/** Describes the machine, including its current load, because the results depend on it. */
async function describeMachine(signal: AbortSignal): Promise<string> {
  const [load = Number.NaN] = loadavg();
  const { version } = await resolveEngine(signal);
  const cores = `${availableParallelism()} cores (${cpus()[0]?.model.trim()})`;
  return `${cores}, Node ${process.version}, Pulumi engine ${version}, load before ${load.toFixed(1)}`;
}

interface Result {
  figure: Figure;
  /** One for each round. */
  values: number[];
}

/** Formats the results as a table. Uses colours only on a terminal, and not if NO_COLOR is set. */
function formatResults(results: readonly Result[]): string {
  const rows = results.map(({ figure, values }) => {
    const [what, against, , target] = figure;
    const at = (share: number): string => format(figure, quantile(values, share));
    const spread = values.length > 1 ? `${at(0.25)} to ${at(0.75)} of ${values.length} rounds` : "";
    const reached = isReached(figure, quantile(values, 0.5)) ? "yes" : "NO";
    return [what, against, at(0.5), spread, target, reached];
  });
  const head = ["WHAT", "AGAINST", "MEASURED", "MIDDLE HALF", "TARGET", "REACHED"];
  return formatTable(head, rows, { colours: { yes: "green", NO: "red" } });
}
