import process from "node:process";
import { fileURLToPath } from "node:url";
import { run } from "../setup/run.mjs";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const PROCESSES = 20;
const repository = fileURLToPath(new URL("../..", import.meta.url));

/** What a program pays for importing this package beside the SDK. */
export const loadingRow: Row = {
  name: "loading",
  title: `Loading pulumi-apichat, ${PROCESSES} processes on each side: about 40 seconds`,
  measure: measureLoading,
};

async function measureLoading({ signal, update }: RowContext): Promise<Measurement[]> {
  const load = (...packages: string[]): Promise<number> => {
    const script = packages.map((name) => `require(${JSON.stringify(name)})`).join(";");
    return timeOf(() => run(process.execPath, ["-e", script], { cwd: repository, env: process.env, signal }));
  };
  const sides = {
    both: () => load("@pulumi/pulumi", "pulumi-apichat"),
    alone: () => load("@pulumi/pulumi"),
  };
  await alternate(sides, { rounds: 1, signal });
  const samples = await alternate(sides, {
    rounds: PROCESSES,
    signal,
    onTurn: (_side, round) => update(`process ${round} of ${PROCESSES}`),
  });
  const rounds = pairwise(samples.both, samples.alone, (both, alone) => both - alone);
  return [
    {
      what: "loading pulumi-apichat in a program",
      against: "loading @pulumi/pulumi alone",
      value: median(rounds),
      unit: "ms",
      target: { atMost: 20 },
      rounds,
      samples,
    },
  ];
}
