/** The resource on the engine. */
import { startService, type Child, type ServiceReport } from "./child.ts";
import { alternate, timeOf, type Context, type Samples } from "./measure.ts";
import { watch } from "./processes.ts";
import { createProject, type Project, type Side } from "./project.ts";

interface Bed {
  service: Child<ServiceReport>;
  project: Project;
}

/** A service with an endpoint, and a project on them, until `resources` are disposed of. */
async function prepare(
  side: Side,
  resources: AsyncDisposableStack,
  { webhooks, signal, delayMs = 0 }: Pick<Context, "webhooks" | "signal"> & { delayMs?: number },
): Promise<Bed> {
  const service = resources.use(await startService({ workspaces: webhooks, delayMs }));
  return { service, project: resources.use(await createProject(side, { service: service.ready, signal })) };
}

/** A turn counts only if everything is registered. */
export async function requireRegistered(service: Child<ServiceReport>, expected: number): Promise<void> {
  const { registered } = await service.ask();
  if (registered !== expected)
    throw new Error(`${registered} webhooks are registered instead of ${expected}`);
}

/** `up` and `destroy` of many webhooks, five ways, and the CPU of provider and program in `up`. */
export async function compareWays(context: Context): Promise<Samples> {
  const { webhooks, rounds } = context;
  await using resources = new AsyncDisposableStack();
  const turns: Record<string, (count: number) => Promise<Record<"up" | "cpu" | "destroy", number>>> = {};
  for (const side of ["ours", "noOp", "plain", "plugin", "yaml"] as const) {
    const { service, project } = await prepare(side, resources, context);
    turns[side] = async (count) => {
      await project.declare(count);
      const up = await watch(project.marker, () => project.pulumi("up"), { everyMs: 200 });
      await requireRegistered(service, side === "noOp" ? 0 : count);
      const destroy = await timeOf(() => project.pulumi("destroy"));
      await requireRegistered(service, 0);
      return { up: up.milliseconds, cpu: up.cpuMs / count, destroy };
    };
  }
  const sidesWith = (count: number) =>
    Object.fromEntries(Object.entries(turns).map(([side, turn]) => [side, () => turn(count)]));
  await alternate(context, sidesWith(1), { rounds: 1 });
  const results = Object.entries(await alternate(context, sidesWith(webhooks), { rounds }));
  return Object.fromEntries(
    (["up", "cpu", "destroy"] as const).flatMap((key) =>
      results.map(([side, all]) => [`${side} ${key}`, all.map((turn) => turn[key])]),
    ),
  );
}

const LATENCY_MS = 150;
const PARALLEL = 32;
/** What each command must at least call for one webhook. */
const CALLS = { up: 2, refresh: 1, destroy: 2 };

/** A YAML program on the plugin, with a service that takes as long as a real one: each command, and the least it could take. */
export async function waitForService(context: Context): Promise<Samples> {
  const { webhooks, rounds } = context;
  await using resources = new AsyncDisposableStack();
  const options = { environment: { PULUMI_SKIP_CHECKPOINTS: "true" } };
  const commands = ["up", "refresh", "destroy"] as const;
  const turnWith = async (delayMs: number) => {
    const { service, project } = await prepare("yaml", resources, { ...context, delayMs });
    await project.declare(webhooks);
    return async () => {
      const times: Partial<Record<keyof typeof CALLS, number>> = {};
      for (const command of commands) {
        const work = () => project.pulumi(command, ["--parallel", String(PARALLEL)], options);
        times[command] = await timeOf(work);
        await requireRegistered(service, command === "destroy" ? 0 : webhooks);
      }
      return times;
    };
  };
  const sides = { slow: await turnWith(LATENCY_MS), fast: await turnWith(0) };
  const { slow = [], fast = [] } = await alternate(context, sides, { rounds, warmUp: 1 });
  const samples: Samples = {};
  for (const command of commands) {
    const waitMs = ((CALLS[command] * webhooks) / PARALLEL) * LATENCY_MS;
    samples[`ours ${command}`] = slow.map((times) => times[command] ?? Number.NaN);
    samples[`bare ${command}`] = fast.map((times) => (times[command] ?? Number.NaN) + waitMs);
  }
  return samples;
}

/** How much of the state one webhook takes, in bytes without the indentation of the export. */
export async function measureStates({ signal }: Context): Promise<Samples> {
  const samples: Samples = {};
  for (const side of ["ours", "noOp", "plugin"] as const) {
    await using resources = new AsyncDisposableStack();
    const { project } = await prepare(side, resources, { webhooks: 1, signal });
    await project.declare(1);
    await project.pulumi("up");
    const [resource] = await project.exportResources();
    if (!resource) throw new Error("the exported state contains no webhook");
    await project.pulumi("destroy");
    samples[side] = [JSON.stringify(resource).length];
    if (side === "ours") samples["code"] = [resource.inputs["__provider"].length];
  }
  return samples;
}

/** What one `HandshakeResponder` of many workspaces takes, and one of a single workspace. */
export async function rotateResponders({ signal, update }: Context): Promise<Samples> {
  // The webhooks of this row are never registered: only their names and keys count.
  const service = { serviceUrl: "http://127.0.0.1:9", endpointUrl: "http://127.0.0.1:9/" };
  await using project = await createProject("responder", { service, signal });
  const samples: Samples = {};
  for (const [side, count] of [["bare", 1] as const, ["ours", 1000] as const]) {
    update(`${count} workspaces`);
    try {
      for (const key of ["up", "rotation"]) {
        await project.declare(count, { verificationKey: `${key}-key-0123456789` });
        samples[`${side} ${key}`] = [await timeOf(() => project.pulumi("up"))];
      }
    } finally {
      // Its process would outlive the project.
      samples[`${side} destroy`] = [await timeOf(() => project.pulumi("destroy"))];
    }
  }
  return samples;
}
