import { parseArgs } from "node:util";

export interface BenchOptions {
  help: boolean;
  /** The names of the rows to run; all if empty. */
  only: string[];
  webhooks: number;
  engineRounds: number;
  /** How many workspaces the rows of the fleet register at most. */
  workspaces: number;
  fleetRounds: number;
  /** Keep the numbers of the fleet's rows beside the benchmark, and draw their plot. */
  plot: boolean;
  json: boolean;
  /** Where the JSON goes; undefined is stdout. */
  jsonFile: string | undefined;
}

/** The emulator keeps 10,000 requests, and each workspace takes four: with more, the calls could not be counted. */
const MOST_WORKSPACES = 2500;

export const USAGE = `npm run bench -- [options]

Measures this package against what it is built on, in one run, and prints the ratios.

  --only <row>       only this row; may be repeated: signature, workerd, bundle, client, message-client,
                     responder, heap, log-line, spool, slow, refused, emulator, command-line, loading, state,
                     engine, many-workspaces, fleet, one-stack
  --webhooks <n>     webhooks of the engine row, default 200: fewer for a quick look
  --rounds <n>       repetitions of the engine row, default 3
  --workspaces <n>   workspaces of the rows fleet and one-stack, default 1000
  --fleet-rounds <n> repetitions of the row fleet, default 1
  --plot             write the numbers of the rows fleet and one-stack to tools/bench/results/fleet.json, and
                     their plot to docs/images/fleet.svg
  --json [file]      keep the results as JSON; without a file on stdout, and the table on stderr
  --help             this text

Exit code: 0 if every target is reached, 1 if one is missed, 2 if something could not be measured.
NO_COLOR=1 leaves colours out.`;

/** Throws an error with a clear text for options that are not known. */
export function parseOptions(given: readonly string[], rows: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...given],
    allowPositionals: true,
    options: {
      help: { type: "boolean", short: "h", default: false },
      only: { type: "string", multiple: true, default: [] },
      webhooks: { type: "string", default: "200" },
      rounds: { type: "string", default: "3" },
      workspaces: { type: "string", default: "1000" },
      "fleet-rounds": { type: "string", default: "1" },
      plot: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  const [jsonFile, ...others] = positionals;
  const stray = values.json ? others[0] : jsonFile;
  if (stray !== undefined) throw new Error(`${stray}: not known; see --help`);
  const unknown = values.only.find((name) => !rows.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: must be one of ${rows.join(", ")}`);
  return {
    help: values.help,
    only: values.only,
    webhooks: parseCount("--webhooks", values.webhooks),
    engineRounds: parseCount("--rounds", values.rounds),
    workspaces: parseCount("--workspaces", values.workspaces, MOST_WORKSPACES),
    fleetRounds: parseCount("--fleet-rounds", values["fleet-rounds"]),
    plot: values.plot,
    json: values.json,
    jsonFile,
  };
}

function parseCount(name: string, text: string, most = 9999): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw new Error(`${name} ${text}: must be a whole number from 1 to ${most}`);
}
