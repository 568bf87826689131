/** A fleet, and one stack of all. */
import { WORKSPACES_PER_STACK } from "../../dist/provider/fleet/fleet.js";
import { KEY_SEED, startService } from "./child.ts";
import { requireRegistered } from "./engine.ts";
import type { Context, Samples } from "./measure.ts";
import { watch } from "./processes.ts";
import { createProject, type Project } from "./project.ts";

const FLEET = ["up", "refresh", "watch", "rotate", "destroy"] as const;
const ONE_STACK = ["up", "refresh", "destroy"] as const;
type Command = (typeof FLEET)[number];

/** How the workspaces are split, as people read it. */
type Split = "one stack" | "one stack, without checkpoints" | "fleet" | "fleet on the plugin";

/** What each command took on some workspaces. */
export interface SplitRun {
  split: Split;
  workspaces: number;
  stacks: number;
  seconds: Partial<Record<Command, number>>;
  /** To the service, over all commands. */
  calls: number;
  peakMebibytes: number;
}

/** What has been measured: one row does not measure again what another has. */
export const runs: SplitRun[] = [];

async function measure(split: Split, workspaces: number, context: Context): Promise<SplitRun> {
  const known = runs.find((run) => run.split === split && run.workspaces === workspaces);
  if (known) return known;
  const run = await runSplit(split, workspaces, context);
  runs.push(run);
  return run;
}

/** Against one stack of all, with checkpoints and without. */
export async function compareSplits(context: Context): Promise<Samples> {
  const samples: Samples = {};
  for (const split of ["fleet", "one stack", "one stack, without checkpoints"] as const) {
    const { seconds } = await measure(split, context.workspaces, context);
    for (const [command, value] of Object.entries(seconds)) samples[`${split}: ${command}`] = [value];
  }
  return samples;
}

/** A fleet of ten times as many workspaces. */
export async function growTenfold(context: Context): Promise<Samples> {
  const few = await measure("fleet", context.workspaces, context);
  const many = await measure("fleet", 10 * context.workspaces, context);
  return { ours: upOf(many), bare: upOf(few).map((up) => 10 * up), memory: [many.peakMebibytes] };
}

/** `up` of that on either provider. */
export async function compareProviders(context: Context): Promise<Samples> {
  const dynamic = await runSplit("fleet", 10 * context.workspaces, context, ["up"]);
  const plugin = await runSplit("fleet on the plugin", 10 * context.workspaces, context, ["up"]);
  return { ours: upOf(plugin), bare: upOf(dynamic) };
}

const upOf = ({ seconds: { up = Number.NaN } }: SplitRun): number[] => [up];

/** In thousands of workspaces, if the row `fleet` has 1,000. */
const SIZES: Partial<Record<Split, number[]>> = {
  "one stack": [0.05, 0.25, 0.5, 1],
  "one stack, without checkpoints": [0.05, 0.25, 0.5, 1, 3],
  fleet: [0.25, 1, 3],
};

/** It has no figure: its table says how large a stack should be. */
export async function drawCurve(context: Context): Promise<Samples> {
  for (const [split, factors] of Object.entries(SIZES) as [Split, number[]][]) {
    for (const factor of factors) await measure(split, Math.ceil(context.workspaces * factor), context);
  }
  return {};
}

/** A rotation under load. Every workspace has a derived key; the service signs with the key that is registered at that moment. */
export async function rotateUnderLoad({ workspaces, signal, update }: Context): Promise<Samples> {
  // More than one wave even where the default makes one stack.
  const stacks = Math.max(4, Math.ceil(workspaces / WORKSPACES_PER_STACK));
  await using service = await startService({ workspaces, deliveriesPerSecond: 200 });
  await using project = await createProject("ours", { service: service.ready, signal });
  await project.declare(workspaces, { pathOf: (name) => `derived/${name}` });
  const run = fleetOf(project, { stacks, update, environment: { BENCH_KEY_SEED: KEY_SEED } });
  await run("up");
  await requireRegistered(service, workspaces);
  const { deliveries: before } = await service.ask();
  await run("rotate");
  const { deliveries } = await service.ask();
  await run("destroy");
  const delivered = deliveries.delivered - before.delivered;
  if (delivered === 0) throw new Error("no delivery arrived during the rotation");
  return { refused: [deliveries.failed], delivered: [delivered] };
}

interface FleetOptions {
  stacks: number;
  update: Context["update"];
  environment?: Record<string, string>;
  provider?: "dynamic" | "plugin";
}

const ARGUMENTS: Partial<Record<Command, string[]>> = {
  up: ["--yes", "--skip-plan"],
  rotate: ["--yes"],
  destroy: ["--yes"],
};

/** Runs a command of the fleet; `rotate` goes to the second rotation. */
function fleetOf(project: Project, { stacks, update, environment, provider = "dynamic" }: FleetOptions) {
  let rotation = "first";
  return async (command: Command): Promise<void> => {
    if (command === "rotate") rotation = "second";
    await project.fleet([String(stacks), provider, command, ...(ARGUMENTS[command] ?? [])], {
      environment: { ...environment, BENCH_ROTATION: rotation },
      onLine: (line) => update(`${command}: ${line.trim().slice(0, 60)}`),
    });
  };
}

/** All commands, or those of a fleet that are named, on all workspaces, as a user runs them, on a service and a backend of their own. */
async function runSplit(
  split: Split,
  workspaces: number,
  { signal, update }: Context,
  commands: readonly Command[] = FLEET,
): Promise<SplitRun> {
  const isFleet = split.startsWith("fleet");
  const stacks = isFleet ? Math.ceil(workspaces / WORKSPACES_PER_STACK) : 1;
  await using service = await startService({ workspaces });
  await using project = await createProject("ours", { service: service.ready, signal });
  await project.declare(workspaces);
  const updateRun = (detail: string): void => update(`${split} of ${workspaces} workspaces, ${detail}`);
  const environment: Record<string, string> =
    split === "one stack, without checkpoints" ? { PULUMI_SKIP_CHECKPOINTS: "true" } : {};
  const onLine = (line: string): void => updateRun(line.trim().slice(0, 60));
  const provider = split === "fleet on the plugin" ? "plugin" : "dynamic";
  const runFleet = fleetOf(project, { stacks, update: updateRun, provider });
  const seconds: SplitRun["seconds"] = {};
  let peakMebibytes = 0;
  const time = async (command: Command, work: () => Promise<void>): Promise<void> => {
    const { milliseconds, peakBytes } = await watch(project.marker, work, { everyMs: 1000 });
    seconds[command] = milliseconds / 1000;
    peakMebibytes = Math.max(peakMebibytes, Math.round(peakBytes / 2 ** 20));
    await requireRegistered(service, command === "destroy" ? 0 : workspaces);
  };
  if (isFleet) for (const command of commands) await time(command, () => runFleet(command));
  else {
    for (const command of ONE_STACK) {
      await time(command, () => project.pulumi(command, [], { environment, onLine }));
    }
  }
  const { endpoint: _, ...calls } = (await service.ask()).calls;
  const total = Object.values(calls).reduce((sum, one) => sum + one, 0);
  return { split, workspaces, stacks, seconds, calls: total, peakMebibytes };
}
