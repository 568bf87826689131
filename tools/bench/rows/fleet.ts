import { startService } from "../child.ts";
import { SPLITS, type Split, type SplitRun } from "../fleet-figures.ts";
import { alternate, ratio, summarize, timeOf, type Claim, type Row, type RowContext } from "../measure.ts";
import { watchMemory } from "../memory.ts";
import { createProject } from "../project.ts";
import { requireRegistered } from "./engine.ts";

/** How many workspaces a stack of the fleet has, more or less. */
const WORKSPACES_A_STACK = 125;

/** The rows of the fleet. They share their runs: what one has measured, the other does not measure again. */
export interface FleetRows {
  rows: readonly Row[];
  /** What was measured until now. */
  runs: readonly SplitRun[];
}

export function createFleetRows(): FleetRows {
  const runs: SplitRun[] = [];
  const measure = async (split: Split, workspaces: number, context: RowContext): Promise<SplitRun> => {
    const run = await runSplit(split, workspaces, context);
    runs.push(run);
    return run;
  };
  const fleetRow: Row = {
    name: "fleet",
    title: "up and refresh of a fleet against one stack of all: about five minutes each round",
    measure: async (context) => {
      const { workspaces, fleetRounds } = context;
      const turns = await alternate(
        context,
        {
          quarter: () => measure("fleet", partOf(workspaces, 4), context),
          fleet: () => measure("fleet", workspaces, context),
          oneStack: () => measure("oneStack", workspaces, context),
        },
        { rounds: fleetRounds },
      );
      const claim = (what: string, against: string, atMost: number): Claim => {
        const of = describeRun(turns.fleet);
        return { what: `${what} of ${of} (time)`, against, target: { atMost }, combine: ratio };
      };
      const oneStack = `one stack of ${workspaces}`;
      const summarizeBy = (secondsOf: (run: SplitRun) => number, given: Claim, bare = turns.oneStack) =>
        summarize(given, { ours: turns.fleet.map(secondsOf), bare: bare.map(secondsOf) });
      return [
        summarizeBy(up, claim("up", oneStack, 0.5)),
        summarizeBy(refresh, claim("refresh", oneStack, 0.5)),
        summarizeBy((run) => up(run) + refresh(run), claim("up and refresh", oneStack, 0.5)),
        // At most a tenth more than linear.
        summarizeBy(up, claim("up", `up of ${describeRun(turns.quarter)}`, 4.4), turns.quarter),
      ];
    },
  };
  const oneStackRow: Row = {
    name: "one-stack",
    title: "Time and memory by the number of workspaces: about six minutes after the row fleet",
    measure: async (context) => {
      for (const [split, divisors] of Object.entries(SIZES) as [Split, number[]][]) {
        for (const divisor of divisors) {
          const workspaces = partOf(context.workspaces, divisor);
          const isMeasured = runs.some((run) => run.split === split && run.workspaces === workspaces);
          if (!isMeasured) await measure(split, workspaces, context);
        }
      }
      // It has no target: its table and its plot say at which size one stack should be cut.
      return [];
    },
  };
  return { runs, rows: [fleetRow, oneStackRow] };
}

/** 50, 200, 500 and 1,000 workspaces in one stack, and 250, 500 and 1,000 as a fleet, if the most is 1,000. */
const SIZES: Record<Split, number[]> = {
  oneStack: [20, 5, 2, 1],
  oneStackWithoutCheckpoints: [20, 5, 2, 1],
  fleet: [4, 2, 1],
};

const partOf = (workspaces: number, divisor: number): number => Math.max(1, Math.round(workspaces / divisor));

const up = (run: SplitRun): number => run.upSeconds;
const refresh = (run: SplitRun): number => run.refreshSeconds;

const describeRun = ([run]: readonly SplitRun[]): string =>
  `a fleet of ${run?.workspaces} workspaces in ${run?.stacks} stacks`;

/** `up` and `refresh` of all workspaces, with the commands of a user, on a service and a backend of their own. */
async function runSplit(split: Split, workspaces: number, { signal, update }: RowContext): Promise<SplitRun> {
  const stacks = split === "fleet" ? Math.max(2, Math.round(workspaces / WORKSPACES_A_STACK)) : 1;
  await using service = await startService(workspaces);
  await using project = await createProject("ours", { service: service.ready, signal });
  await project.declare(workspaces);
  const timeCommand = async (command: "up" | "refresh"): Promise<number> => {
    const onLine = (line: string): void =>
      update(`${SPLITS[split]} of ${workspaces} workspaces, ${command}: ${line.trim().slice(0, 60)}`);
    const environment = { PULUMI_SKIP_CHECKPOINTS: "true" };
    const fleetParameters = [String(stacks), command, ...(command === "up" ? ["--yes", "--skip-plan"] : [])];
    const milliseconds = await timeOf(() =>
      split === "fleet"
        ? project.fleet(fleetParameters, { onLine })
        : project.pulumi(command, split === "oneStack" ? { onLine } : { onLine, environment }),
    );
    await requireRegistered(service, workspaces);
    return milliseconds / 1000;
  };
  const { result, peakBytes = Number.NaN } = await watchMemory(project.marker, async () => ({
    upSeconds: await timeCommand("up"),
    refreshSeconds: await timeCommand("refresh"),
  }));
  const run = { split, workspaces, stacks, ...result };
  return Number.isNaN(peakBytes) ? run : { ...run, peakMebibytes: peakBytes / 2 ** 20 };
}
