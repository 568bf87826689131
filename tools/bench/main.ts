/** `npm run bench`: measures the package against what it is built on. `--help` says more. */
import Table from "cli-table3";
import { Command, InvalidArgumentError, Option } from "commander";
import { writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import process from "node:process";
import { styleText } from "node:util";
import { resolveEngine } from "../engine/resolve.ts";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { runs } from "./fleet.ts";
import { quantile, type Samples } from "./measure.ts";
import { format, ROWS, valuesOf, type Figure } from "./rows.ts";

const NAMES = ROWS.map(({ name }) => name);
const MISSED = 1;
const NOT_MEASURED = 2;
const STYLE = {
  chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" },
  style: { head: [], border: [] },
};

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 9999) return count;
  throw new InvalidArgumentError("Must be a whole number from 1 to 9999.");
}

const command = new Command("npm run bench --")
  .description("Measures this package against what it is built on, in one run, and prints the ratios.")
  .addOption(new Option("--only <row...>", "only these rows").choices(NAMES).default(NAMES, "all"))
  .option("--webhooks <n>", "webhooks of the rows engine and latency", parseCount, 200)
  .option("--rounds <n>", "repetitions of these rows", parseCount, 3)
  .option("--workspaces <n>", "workspaces of the row fleet", parseCount, 1000)
  .option("--json [file]", "keep the results as JSON; without a file on stdout, and the table on stderr")
  .addHelpText(
    "after",
    `
Exit code: 0 if every target is reached, 1 if one is missed, 2 if something could not be measured.
NO_COLOR=1 leaves colours out.`,
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_MEASURED));

interface Options {
  only: string[];
  webhooks: number;
  rounds: number;
  workspaces: number;
  json?: true | string;
}

await runTool(async () => {
  const { only, json, ...counts } = command.parse().opts<Options>();
  const signal = abortOnSignals();
  const machine = await describeMachine(signal);
  const results: ReturnType<typeof summarize>[] = [];
  for (const { name, takes, measure, figures } of ROWS.filter((row) => only.includes(row.name))) {
    const title = `${name}: ${figures[0]?.what ?? "time and memory by the number of workspaces"}: ${takes}`;
    const measureRow = (update: (detail: string) => void): Promise<Samples> =>
      measure({ ...counts, signal, update });
    const samples = await withProgress(title, measureRow);
    results.push(...figures.map((figure) => summarize(figure, samples)));
  }
  const print = json === true ? console.error : console.log;
  print(`\n${machine}\n${counts.webhooks} webhooks, a fleet of ${counts.workspaces} workspaces\n`);
  if (results.length > 0) print(formatResults(results));
  if (runs.length > 0) print(formatRuns());
  const content = `${JSON.stringify({ at: new Date(), machine, ...counts, results, fleet: runs }, undefined, 2)}\n`;
  if (json === true) process.stdout.write(content);
  else if (json) await writeFile(json, content);
  return results.every(({ reached }) => reached) ? 0 : MISSED;
}, NOT_MEASURED);

/** What the results depend on, with what else the machine was doing. */
async function describeMachine(signal: AbortSignal): Promise<string> {
  const [load = Number.NaN] = loadavg();
  const { version } = await resolveEngine(signal);
  const cores = `${availableParallelism()} cores (${cpus()[0]?.model.trim()})`;
  return `${cores}, Node ${process.version}, Pulumi engine ${version}, load before ${load.toFixed(1)}`;
}

function summarize(figure: Figure, samples: Samples) {
  const values = valuesOf(figure, samples);
  const value = quantile(values, 0.5);
  const { atMost = Infinity, atLeast = -Infinity } = figure;
  return { ...figure, value, values, reached: value <= atMost && value >= atLeast };
}

/** The results as a table. Colours only on a terminal, and not under NO_COLOR. */
function formatResults(results: readonly ReturnType<typeof summarize>[]): string {
  const table = new Table({
    head: ["what", "against", "measured", "middle half", "to reach", "reached"],
    ...STYLE,
  });
  for (const { what, against, value, values, unit, atMost, atLeast, reached } of results) {
    const [low, high] = [0.25, 0.75].map((share) => format(quantile(values, share), unit));
    const spread = values.length > 1 ? `${low} to ${high} of ${values.length} rounds` : "";
    const goal = atMost === undefined ? `>= ${format(atLeast ?? 0, unit)}` : `<= ${format(atMost, unit)}`;
    const [color, word] = reached ? (["green", "yes"] as const) : (["red", "NO"] as const);
    table.push([what, against, format(value, unit), spread, goal, styleText(color, word)]);
  }
  return table.toString();
}

/** What each command of the fleet rows took. */
function formatRuns(): string {
  const commands = ["up", "refresh", "watch", "rotate", "destroy"] as const;
  const table = new Table({
    head: ["split", "workspaces", "stacks", ...commands, "calls", "peak memory"],
    ...STYLE,
  });
  for (const { split, workspaces, stacks, seconds, calls, peakMebibytes } of runs) {
    const times = commands.map((name) =>
      seconds[name] === undefined ? "" : `${seconds[name].toFixed(1)} s`,
    );
    table.push([split, workspaces, stacks, ...times, calls, `${peakMebibytes} MiB`]);
  }
  return table.toString();
}
