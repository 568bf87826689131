/** Measures the resource on the engine. */
import { startService, type Child, type ServiceReport } from "./child.ts";
import { alternate, timeOf, type Context, type Samples } from "./measure.ts";
import { watch } from "./processes.ts";
import { createProject, type Side } from "./project.ts";

/** Starts a service with an endpoint, and creates a project that uses them. */
async function prepare(
  side: Side,
  resources: AsyncDisposableStack,
  { webhooks, signal, delayMs = 0 }: Pick<Context, "webhooks" | "signal"> & { delayMs?: number },
) {
  const service = resources.use(await startService({ workspaces: webhooks, delayMs }));
  return { service, project: resources.use(await createProject(side, { service: service.ready, signal })) };
}

/** Throws unless this many webhooks are registered. */
export async function requireRegistered(service: Child<ServiceReport>, expected: number): Promise<void> {
  const { registered } = await service.ask();
  if (registered !== expected) throw new Error(`${registered} of ${expected} webhooks are registered`);
}

/** Measures `up` and `destroy` of many webhooks on each side, and the CPU time of provider and program in `up`. */
export async function compareWays(context: Context): Promise<Samples> {
  const { webhooks, rounds } = context;
  await using resources = new AsyncDisposableStack();
  const sides: Record<string, () => Promise<Record<"up" | "cpu" | "destroy", number>>> = {};
  for (const side of ["ours", "noOp", "yaml"] as const) {
    const { service, project } = await prepare(side, resources, context);
    await project.declare(webhooks);
    sides[side] = async () => {
      const up = await watch(project.marker, () => project.pulumi("up"), { everyMs: 200 });
      await requireRegistered(service, side === "noOp" ? 0 : webhooks);
      const destroy = await timeOf(() => project.pulumi("destroy"));
      await requireRegistered(service, 0);
      return { up: up.milliseconds, cpu: up.cpuMs / webhooks, destroy };
    };
  }
  const results = Object.entries(await alternate(context, sides, { rounds, warmUp: 1 }));
  return Object.fromEntries(
    (["up", "cpu", "destroy"] as const).flatMap((key) =>
      results.map(([side, turns]) => [`${side} ${key}`, turns.map((turn) => turn[key])]),
    ),
  );
}

const LATENCY_MS = 150;
const PARALLEL = 32;
/** The calls that each command makes for one webhook. */
const CALLS = [["up", 2] as const, ["refresh", 1] as const, ["destroy", 2] as const];

/**
 * Measures a YAML program on the plugin, without checkpoints, against a service with the latency of a real one.
 * Compares it with the time of the calls plus the time against a service without latency.
 */
export async function waitForService(context: Context): Promise<Samples> {
  const { webhooks, rounds } = context;
  await using resources = new AsyncDisposableStack();
  const options = { environment: { PULUMI_SKIP_CHECKPOINTS: "true" } };
  const parallel = ["--parallel", String(PARALLEL)];
  const sideWith = async (delayMs: number) => {
    const { service, project } = await prepare("yaml", resources, { ...context, delayMs });
    await project.declare(webhooks);
    return async () => {
      const times: number[] = [];
      for (const [command] of CALLS) {
        times.push(await timeOf(() => project.pulumi(command, parallel, options)));
        await requireRegistered(service, command === "destroy" ? 0 : webhooks);
      }
      return times;
    };
  };
  const sides = { slow: await sideWith(LATENCY_MS), fast: await sideWith(0) };
  const { slow = [], fast = [] } = await alternate(context, sides, { rounds, warmUp: 1 });
  const samples: Samples = {};
  for (const [index, [command, calls]] of CALLS.entries()) {
    const callsMs = ((calls * webhooks) / PARALLEL) * LATENCY_MS;
    samples[`ours ${command}`] = slow.map((times) => times[index] ?? Number.NaN);
    samples[`floor ${command}`] = fast.map((times) => (times[index] ?? Number.NaN) + callsMs);
  }
  return samples;
}
