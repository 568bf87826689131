import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { run } from "../setup/run.mjs";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const PROCESSES = 30;
const packageFile = createRequire(import.meta.url).resolve("pulumi-apichat/package.json");
const program = join(dirname(packageFile), "dist/provider/cli/main.js");

/** How long a person waits for the command line to say anything. */
export const commandLineRow: Row = {
  name: "command-line",
  title: `Starting apichat --help, ${PROCESSES} processes on each side: about 20 seconds`,
  measure: measureStart,
};

async function measureStart({ signal, update }: RowContext): Promise<Measurement[]> {
  const start = (args: string[]) => (): Promise<number> =>
    timeOf(() => run(process.execPath, args, { env: process.env, signal }));
  const sides = { help: start([program, "--help"]), nothing: start(["-e", "0"]) };
  await alternate(sides, { rounds: 2, signal });
  const samples = await alternate(sides, {
    rounds: PROCESSES,
    signal,
    onTurn: (_side, round) => update(`process ${round} of ${PROCESSES}`),
  });
  const rounds = pairwise(samples.help, samples.nothing, (help, nothing) => help - nothing);
  return [
    {
      what: "apichat --help",
      against: "node -e 0",
      value: median(rounds),
      unit: "ms",
      target: { atMost: 80 },
      rounds,
      samples,
    },
  ];
}
