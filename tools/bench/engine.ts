/** Measures the resource on the engine. */
import { startService, type Child, type ServiceReport } from "./child.ts";
import { alternate, timeOf, type Context, type Samples } from "./measure.ts";
import { watch } from "./processes.ts";
import { createProject, type Side } from "./project.ts";

/** Starts a service with an endpoint, and creates a project that uses them. */
async function prepare(
  side: Side,
  resources: AsyncDisposableStack,
  { webhooks, signal }: Pick<Context, "webhooks" | "signal">,
) {
  const service = resources.use(await startService({ workspaces: webhooks }));
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
