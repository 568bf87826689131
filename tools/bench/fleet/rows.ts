import { alternate, ratio, summarize, type Measurement, type Row, type RowContext } from "../measure.ts";
import { SPLIT_NAMES } from "./figures.ts";
import { runFleet } from "./fleet.ts";
import { runOneStack } from "./one-stack.ts";
import type { RunGiven, Split, SplitRun } from "./place.ts";

/** The rows of the fleet. They share their runs: what one has measured, the other does not measure again. */
export interface FleetRows {
  rows: readonly Row[];
  /** What was measured until now. */
  runs: readonly SplitRun[];
}

const RUN: Record<Split, (given: RunGiven) => Promise<SplitRun>> = {
  oneStack: (given) => runOneStack({ ...given, checkpoints: true }),
  oneStackWithoutCheckpoints: (given) => runOneStack({ ...given, checkpoints: false }),
  fleet: runFleet,
};

export function createFleetRows(): FleetRows {
  const runs: SplitRun[] = [];
  const measureRun = async (split: Split, workspaces: number, context: RowContext): Promise<SplitRun> => {
    const update = (detail: string): void =>
      context.update(`${SPLIT_NAMES[split]} of ${workspaces} workspaces, ${detail}`);
    update("the service starts");
    const run = await RUN[split]({ workspaces, signal: context.signal, update });
    runs.push(run);
    return run;
  };
  return {
    runs,
    rows: [
      {
        name: "fleet",
        title: "up and refresh of a fleet against one stack of all: about five minutes each round",
        measure: (context) => measureFleet(context, measureRun),
      },
      {
        name: "one-stack",
        title: "Time and memory by the number of workspaces: about six minutes after the row fleet",
        measure: async (context) => {
          for (const { split, workspaces } of listSizes(context.workspaces)) {
            const isMeasured = runs.some((run) => run.split === split && run.workspaces === workspaces);
            if (!isMeasured) await measureRun(split, workspaces, context);
          }
          // It has no target: its table and its plot say at which size one stack should be cut.
          return [];
        },
      },
    ],
  };
}

const quarterOf = (workspaces: number): number => Math.max(1, Math.round(workspaces / 4));

/** 50, 200, 500 and 1,000 in one stack, and 250, 500 and 1,000 as a fleet, if `most` is 1,000. */
function listSizes(most: number): { split: Split; workspaces: number }[] {
  const part = (divisor: number): number => Math.max(1, Math.round(most / divisor));
  const inOneStack = [part(20), part(5), part(2), most];
  return [
    ...inOneStack.map((workspaces) => ({ split: "oneStack" as const, workspaces })),
    ...inOneStack.map((workspaces) => ({ split: "oneStackWithoutCheckpoints" as const, workspaces })),
    ...[quarterOf(most), part(2), most].map((workspaces) => ({ split: "fleet" as const, workspaces })),
  ];
}

async function measureFleet(
  context: RowContext,
  measureRun: (split: Split, workspaces: number, context: RowContext) => Promise<SplitRun>,
): Promise<Measurement[]> {
  const { workspaces, fleetRounds, signal } = context;
  const runs = await alternate(
    {
      quarter: () => measureRun("fleet", quarterOf(workspaces), context),
      fleet: () => measureRun("fleet", workspaces, context),
      oneStack: () => measureRun("oneStack", workspaces, context),
    },
    { rounds: fleetRounds, signal },
  );
  const comparison = (
    what: string,
    against: Exclude<keyof typeof runs, "fleet">,
    secondsOf: (run: SplitRun) => number,
  ): Measurement =>
    summarize(
      {
        what: `${what} of ${describeRun(runs.fleet[0])} (time)`,
        against:
          against === "oneStack"
            ? `one stack of ${runs.oneStack[0]?.workspaces}`
            : `up of ${describeRun(runs.quarter[0])}`,
        // Against a quarter of it at most a tenth more than linear.
        target: { atMost: against === "oneStack" ? 0.5 : 4.4 },
        combine: ratio,
      },
      {
        ours: runs.fleet.map((run) => secondsOf(run) * 1000),
        bare: runs[against].map((run) => secondsOf(run) * 1000),
      },
    );
  return [
    comparison("up", "oneStack", ({ upSeconds }) => upSeconds),
    comparison("refresh", "oneStack", ({ refreshSeconds }) => refreshSeconds),
    comparison("up and refresh", "oneStack", ({ upSeconds, refreshSeconds }) => upSeconds + refreshSeconds),
    comparison("up", "quarter", ({ upSeconds }) => upSeconds),
  ];
}

const describeRun = (run: SplitRun | undefined): string =>
  `a fleet of ${run?.workspaces} workspaces in ${run?.stacks} stacks`;
