import { startChild, type Child } from "../child.ts";
import {
  alternate,
  ratio,
  summarize,
  timeOf,
  type Measurement,
  type Row,
  type RowContext,
} from "../measure.ts";
import { createProject, PROVIDER, type Project, type Side, type StateResource } from "../project.ts";
import type { ServiceReport } from "../service.ts";

/** The service in another process, and one project for each side. */
interface Bed<Name extends Side> {
  service: Child<ServiceReport>;
  projects: Record<Name, Project>;
}

/** Runs `work` on a bed of so many workspaces, and removes all of it afterwards. */
async function withBed<Name extends Side, Result>(
  { sides, workspaces, signal }: { sides: readonly Name[]; workspaces: number; signal: AbortSignal },
  work: (bed: Bed<Name>) => Promise<Result>,
): Promise<Result> {
  const service = await startChild<ServiceReport>(new URL("../service.ts", import.meta.url), [
    String(workspaces),
  ]);
  const projects: Partial<Record<Side, Project>> = {};
  try {
    for (const side of sides) projects[side] = await createProject(side, { service: service.ready, signal });
    return await work({ service, projects: projects as Record<Name, Project> });
  } finally {
    await Promise.all([service.stop(), ...Object.values(projects).map((project) => project.remove())]);
  }
}

const SIDES = ["ours", "noOp", "plain"] as const;
type EngineSide = (typeof SIDES)[number];

/** The commands of one turn, in milliseconds, and what the service saw of them. */
interface Turn {
  up: number;
  destroy: number;
  /** How often each action was called. */
  calls: Record<string, number>;
}

/** What this package costs, and saves, in `pulumi up` and `pulumi destroy` of many webhooks. */
export const engineRow: Row = {
  name: "engine",
  title: "pulumi up and destroy of many webhooks, three ways: five to ten minutes",
  measure: (context) =>
    withBed({ sides: SIDES, workspaces: context.webhooks, signal: context.signal }, (bed) =>
      measureEngine(bed, context),
    ),
};

async function measureEngine(
  bed: Bed<EngineSide>,
  { webhooks, engineRounds, signal, update }: RowContext,
): Promise<Measurement[]> {
  const sidesWith = (count: number) => ({
    ours: () => runTurn(bed, "ours", count),
    noOp: () => runTurn(bed, "noOp", count),
    plain: () => runTurn(bed, "plain", count),
  });
  update("one webhook each, to warm up");
  await alternate(sidesWith(1), { rounds: 1, signal });
  const turns = await alternate(sidesWith(webhooks), {
    rounds: engineRounds,
    signal,
    onTurn: (side, round) => update(`round ${round} of ${engineRounds}: ${side}`),
  });
  requireSameCalls(turns.ours, turns.plain);
  const comparison = (command: "up" | "destroy", against: "noOp" | "plain", atMost: number): Measurement =>
    summarize(
      {
        what: `pulumi ${command} of ${webhooks} webhooks (time)`,
        against: against === "noOp" ? "a no-op dynamic resource" : "the same as a plain closure",
        target: { atMost },
        combine: ratio,
      },
      { ours: turns.ours.map((turn) => turn[command]), bare: turns[against].map((turn) => turn[command]) },
    );
  return [
    comparison("up", "noOp", 1.15),
    comparison("destroy", "noOp", 1.15),
    comparison("up", "plain", 0.85),
  ];
}

async function runTurn(
  { service, projects }: Bed<EngineSide>,
  side: EngineSide,
  count: number,
): Promise<Turn> {
  const requireRegistered = async (expected: number): Promise<Record<string, number>> => {
    const { registered, calls } = await service.ask();
    if (registered === (side === "noOp" ? 0 : expected)) return calls;
    throw new Error(`${side}: ${registered} webhooks are registered, and should be ${expected}`);
  };
  await service.ask();
  await projects[side].declare(count);
  const up = await timeOf(() => projects[side].up());
  const calls = { ...(await requireRegistered(count)) };
  const destroy = await timeOf(() => projects[side].destroy());
  for (const [action, number] of Object.entries(await requireRegistered(0))) {
    calls[action] = (calls[action] ?? 0) + number;
  }
  return { up, destroy, calls };
}

/** The comparison is fair only while both do the same. */
function requireSameCalls(ours: readonly Turn[], plain: readonly Turn[]): void {
  for (const [index, { calls }] of ours.entries()) {
    const others = plain[index]?.calls ?? {};
    const differs = Object.keys({ ...calls, ...others }).find((action) => calls[action] !== others[action]);
    if (differs === undefined) continue;
    throw new Error(
      `${differs}: ours calls it ${calls[differs]} times, the plain way ${others[differs]} times`,
    );
  }
}

/** How much of the state one webhook takes. */
export const stateRow: Row = {
  name: "state",
  title: "The state of one webhook: about 15 seconds",
  measure: ({ signal }) =>
    withBed({ sides: ["ours", "noOp"], workspaces: 1, signal }, async ({ projects }) => {
      const [ours, noOp] = [await registerOne(projects.ours), await registerOne(projects.noOp)];
      // Without the indentation of the export.
      const [ourBytes, noOpBytes] = [ours, noOp].map((resource) =>
        Buffer.byteLength(JSON.stringify(resource)),
      );
      const providerBytes = Buffer.byteLength(ours.inputs[PROVIDER]);
      const size = summarize(
        {
          what: `exported state of one webhook (${ourBytes} bytes)`,
          against: `a no-op dynamic resource (${noOpBytes} bytes)`,
          target: { atMost: 1.3 },
          combine: ratio,
        },
        { ours: [ourBytes ?? Number.NaN], bare: [noOpBytes ?? Number.NaN] },
      );
      const provider: Measurement = {
        what: "__provider in it",
        against: "",
        value: providerBytes,
        unit: "bytes",
        target: { atMost: 200 },
        rounds: [providerBytes],
        samples: {},
      };
      return [size, provider];
    }),
};

async function registerOne(project: Project): Promise<StateResource> {
  await project.declare(1);
  await project.up();
  const [resource] = await project.exportResources();
  if (!resource) throw new Error("the exported state holds no webhook");
  await project.destroy();
  return resource;
}

const MANY = 1000;
/** The webhooks of this row are never registered: only their names and keys count. */
const NO_SERVICE = { serviceUrl: "http://127.0.0.1:9", endpointUrl: "http://127.0.0.1:9" };

/** What one `HandshakeResponder` of many workspaces takes, against one of a single workspace. */
export const manyWorkspacesRow: Row = {
  name: "many-workspaces",
  title: `A HandshakeResponder of ${MANY} workspaces, one rotation of all: about half a minute`,
  measure: async ({ signal, update }) => {
    const project = await createProject("responder", { service: NO_SERVICE, signal });
    try {
      update("one workspace");
      const one = await rotateResponder(project, 1);
      update(`${MANY} workspaces`);
      const many = await rotateResponder(project, MANY);
      return (["up", "rotation", "destroy"] as const).map((command) =>
        summarize(
          {
            what: `${command} of a HandshakeResponder of ${MANY} workspaces (time)`,
            against: "of one workspace",
            target: { atMost: 3 },
            combine: ratio,
          },
          { ours: [many[command]], bare: [one[command]] },
        ),
      );
    } finally {
      await project.remove();
    }
  },
};

async function rotateResponder(project: Project, workspaces: number) {
  await project.declare(workspaces, "first-key-0123456789");
  try {
    const up = await timeOf(() => project.up());
    await project.declare(workspaces, "second-key-0123456789");
    return { up, rotation: await timeOf(() => project.up()), destroy: await timeOf(() => project.destroy()) };
  } catch (error) {
    // Its process would outlive the project.
    await project.destroy();
    throw error;
  }
}
