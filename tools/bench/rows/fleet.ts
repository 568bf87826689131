import { KEY_SEED, startService } from "../child.ts";
import { COMMANDS, SPLITS, type Command, type Split, type SplitRun } from "../fleet-figures.ts";
import {
  alternate,
  measureOnce,
  ratio,
  summarize,
  timeOf,
  type Measurement,
  type Row,
  type RowContext,
} from "../measure.ts";
import { watchMemory } from "../memory.ts";
import { createProject, type Project } from "../project.ts";
import { requireRegistered } from "./engine.ts";

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
  const measureUnlessKnown = async (
    split: Split,
    workspaces: number,
    context: RowContext,
  ): Promise<SplitRun> =>
    runs.find((run) => run.split === split && run.workspaces === workspaces) ??
    (await measure(split, workspaces, context));
  const fleetRow: Row = {
    name: "fleet",
    title: "A fleet against one stack of all: about five minutes each round",
    measure: async (context) => {
      const { workspaces, fleetRounds } = context;
      const turns = await alternate(
        context,
        {
          fleet: () => measure("fleet", workspaces, context),
          oneStack: () => measure("oneStack", workspaces, context),
          oneStackWithoutCheckpoints: () => measure("oneStackWithoutCheckpoints", workspaces, context),
        },
        { rounds: fleetRounds },
      );
      const compare = (
        command: Command,
        { split, of }: { split: OneStack; of: Command },
        atMost: number,
      ): Measurement =>
        summarize(
          {
            what: `${command} of ${describeRun(turns.fleet[0])} (time)`,
            against: `${of} of ${SPLITS[split]}`,
            target: { atMost },
            combine: ratio,
          },
          { ours: turns.fleet.map(secondsOf(command)), bare: turns[split].map(secondsOf(of)) },
        );
      return [
        compare("up", { split: "oneStack", of: "up" }, 0.18),
        compare("up", { split: "oneStackWithoutCheckpoints", of: "up" }, 1.2),
        compare("refresh", { split: "oneStackWithoutCheckpoints", of: "refresh" }, 1.5),
        compare("watch", { split: "oneStackWithoutCheckpoints", of: "refresh" }, 2.5),
      ];
    },
  };
  const tenTimesRow: Row = {
    name: "ten-times",
    title: "A fleet of ten times as many workspaces: about a quarter of an hour",
    measure: async (context) => {
      const few = await measureUnlessKnown("fleet", context.workspaces, context);
      const many = await measureUnlessKnown("fleet", 10 * context.workspaces, context);
      const up = secondsOf("up");
      const growth = summarize(
        {
          what: `up of ${describeRun(many)} (time)`,
          against: `ten times up of ${few.workspaces}`,
          target: { atMost: 1.05 },
          combine: ratio,
        },
        { ours: [up(many)], bare: [10 * up(few)] },
      );
      const memory = {
        what: `peak memory of ${describeRun(many)}, without the service`,
        unit: "MiB",
        value: many.peakMebibytes ?? Number.NaN,
        target: { atMost: 2560 },
      } as const;
      return [growth, measureOnce(memory)];
    },
  };
  const curveRow: Row = {
    name: "curve",
    title: "Time and memory by the number of workspaces: about seven minutes after the row fleet",
    measure: async (context) => {
      for (const [split, factors] of Object.entries(SIZES) as [Split, number[]][]) {
        for (const factor of factors) {
          await measureUnlessKnown(split, Math.max(1, Math.round(context.workspaces * factor)), context);
        }
      }
      // It has no target: its table and its plot say how large a stack should be.
      return [];
    },
  };
  return { runs, rows: [fleetRow, tenTimesRow, curveRow, rotationRow] };
}

type OneStack = Extract<Split, `oneStack${string}`>;

/** In thousands of workspaces, if the row `fleet` has 1,000. */
const SIZES: Record<Split, number[]> = {
  oneStack: [0.05, 0.25, 0.5, 1],
  oneStackWithoutCheckpoints: [0.05, 0.25, 0.5, 1, 3],
  fleet: [0.25, 1, 3],
};

const DELIVERIES_PER_SECOND = 200;

/** Every workspace has a derived key of its own. The service signs with the key that is registered at that moment. */
const rotationRow: Row = {
  name: "rotation",
  title: "A rotation in waves under load: about two minutes",
  measure: async ({ workspaces, stackSize, signal, update }) => {
    // More than one wave also where the default makes one stack.
    const stacks = Math.max(4, Math.ceil(workspaces / stackSize));
    await using service = await startService(workspaces, DELIVERIES_PER_SECOND);
    await using project = await createProject("ours", { service: service.ready, signal });
    await project.declare(workspaces, { pathOf: (name) => `derived/${name}` });
    const run = fleetOf(project, { stacks, update, environment: { BENCH_KEY_SEED: KEY_SEED } });
    await run("up");
    await requireRegistered(service, workspaces);
    const { deliveries: before } = await service.ask();
    await run("rotate");
    const { deliveries } = await service.ask();
    await run("destroy");
    const sent = deliveries.delivered - before.delivered;
    const refused = {
      what: `rotation of ${workspaces} workspaces in ${stacks} stacks, ${sent} deliveries meanwhile`,
      unit: "refused",
      value: deliveries.failed,
      target: { atMost: 0 },
    } as const;
    return [measureOnce(refused)];
  },
};

const secondsOf =
  (command: Command) =>
  ({ seconds }: SplitRun): number =>
    seconds[command] ?? Number.NaN;

const describeRun = (run: SplitRun | undefined): string =>
  `a fleet of ${run?.workspaces} workspaces in ${run?.stacks === 1 ? "1 stack" : `${run?.stacks} stacks`}`;

/** Runs a command of the fleet, each `rotate` with a name of its own. */
function fleetOf(
  project: Project,
  {
    stacks,
    update,
    environment,
  }: {
    stacks: number;
    update: RowContext["update"];
    environment?: Record<string, string>;
  },
): (command: Command) => Promise<void> {
  const parameters: Record<Command, string[]> = {
    up: ["--yes", "--skip-plan"],
    refresh: [],
    watch: [],
    rotate: ["--yes"],
    destroy: ["--yes"],
  };
  let rotation = "first";
  return async (command) => {
    if (command === "rotate") rotation = "second";
    await project.fleet([String(stacks), command, ...parameters[command]], {
      environment: { ...environment, BENCH_ROTATION: rotation },
      onLine: (line) => update(`${command}: ${line.trim().slice(0, 60)}`),
    });
  };
}

/** All commands, or those of a fleet that are named, on all workspaces, as a user runs them, on a service and a backend of their own. */
async function runSplit(
  split: Split,
  workspaces: number,
  { stackSize, signal, update }: RowContext,
  commands: readonly Command[] = COMMANDS,
): Promise<SplitRun> {
  const isFleet = split === "fleet";
  const stacks = isFleet ? Math.ceil(workspaces / stackSize) : 1;
  await using service = await startService(workspaces);
  await using project = await createProject("ours", { service: service.ready, signal });
  await project.declare(workspaces);
  const updateRun = (detail: string): void =>
    update(`${SPLITS[split]} of ${workspaces} workspaces, ${detail}`);
  const environment: Record<string, string> =
    split === "oneStackWithoutCheckpoints" ? { PULUMI_SKIP_CHECKPOINTS: "true" } : {};
  const onLine = (line: string): void => updateRun(line.trim().slice(0, 60));
  const runOneStack = (command: "up" | "refresh" | "destroy"): Promise<void> =>
    project.pulumi(command, { environment, onLine });
  const runFleet = fleetOf(project, { stacks, update: updateRun });
  const seconds: SplitRun["seconds"] = {};
  const timeCommand = async (command: Command, run: () => Promise<void>): Promise<void> => {
    seconds[command] = (await timeOf(run)) / 1000;
    await requireRegistered(service, command === "destroy" ? 0 : workspaces);
  };
  const { peakBytes = Number.NaN } = await watchMemory(project.marker, async () => {
    if (isFleet) {
      for (const command of commands) await timeCommand(command, () => runFleet(command));
    } else {
      for (const command of ONE_STACK_COMMANDS) await timeCommand(command, () => runOneStack(command));
    }
  });
  const { endpoint: _, ...calls } = (await service.ask()).calls;
  const run = { split, workspaces, stacks, seconds, calls: sum(Object.values(calls)) };
  return Number.isNaN(peakBytes) ? run : { ...run, peakMebibytes: peakBytes / 2 ** 20 };
}

const ONE_STACK_COMMANDS = ["up", "refresh", "destroy"] as const;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
