/** Measures a fleet, and one stack with all its workspaces. */
import { WORKSPACES_PER_STACK } from "../../dist/provider/fleet/fleet.js";
import { stackName } from "../../dist/provider/fleet/placement.js";
import { startService } from "./child.ts";
import { requireRegistered } from "./engine.ts";
import { timeOf, type Context, type Samples } from "./measure.ts";
import { watch } from "./processes.ts";
import { createProject } from "./project.ts";

/** Compares a fleet with one stack, with checkpoints and without, each with its own service and backend. */
export async function compareSplits(context: Context): Promise<Samples> {
  const oneStack = {
    "one stack": {},
    "without checkpoints": { environment: { PULUMI_SKIP_CHECKPOINTS: "true" } },
  };
  const samples = await measureFleet(context);
  for (const [split, options] of Object.entries(oneStack)) {
    await using service = await startService({ workspaces: context.workspaces });
    await using project = await createProject("ours", { service: service.ready, signal: context.signal });
    await project.declare(context.workspaces);
    for (const command of ["up", "refresh", "destroy"] as const) {
      context.update(`${split}: ${command}`);
      samples[`${split} ${command}`] = [await timeOf(() => project.pulumi(command, [], options))];
      await requireRegistered(service, command === "destroy" ? 0 : context.workspaces);
    }
  }
  return samples;
}

/**
 * Measures each command of a fleet, its peak memory, and `pulumi preview --refresh` of its stacks with the
 * same parallelism.
 */
async function measureFleet({ workspaces, signal, update }: Context): Promise<Samples> {
  await using service = await startService({ workspaces });
  await using project = await createProject("ours", { service: service.ready, signal });
  await project.declare(workspaces);
  const count = Math.ceil(workspaces / WORKSPACES_PER_STACK);
  const run = (command: string, ...args: string[]): Promise<void> =>
    project.fleet([String(count), command, ...args], {
      onLine: (line) => update(`${command}: ${line.trim().slice(0, 60)}`),
    });
  const samples: Samples = { memory: [0] };
  const measure = async (command: string, ...args: string[]): Promise<void> => {
    const { milliseconds, peakBytes } = await watch(project.marker, () => run(command, ...args));
    samples[`fleet ${command}`] = [milliseconds];
    samples["memory"] = [Math.max(samples["memory"]?.[0] ?? 0, peakBytes / 2 ** 20)];
    await requireRegistered(service, command === "destroy" ? 0 : workspaces);
  };
  await measure("up", "--yes", "--skip-plan");
  await measure("refresh");
  await measure("watch");
  const stacks = Array.from({ length: count }, (_, index) => stackName("bench", index, count));
  for (const stack of stacks) await run("write", "--stack", stack, "--folder", stack);
  samples["preview"] = [await timeOf(() => project.preview(stacks))];
  await measure("destroy", "--yes");
  return samples;
}
