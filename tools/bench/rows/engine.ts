import { isDeepStrictEqual } from "node:util";
import { startService, type Child, type ServiceReport } from "../child.ts";
import { alternate, measureOnce, ratio, summarize, timeOf, type Measurement, type Row } from "../measure.ts";
import { createProject, PROVIDER, type Project, type Side, type StateResource } from "../project.ts";

/** What this package costs, and saves, in `pulumi up` and `pulumi destroy` of many webhooks. */
const engineRow: Row = {
  name: "engine",
  title: "pulumi up and destroy of many webhooks, three ways: five to ten minutes",
  measure: async (context) => {
    const { webhooks, engineRounds, signal } = context;
    await using resources = new AsyncDisposableStack();
    const prepare = async (side: Side) => {
      const service = resources.use(await startService(webhooks));
      const project = resources.use(await createProject(side, { service: service.ready, signal }));
      return { service, project, registers: side !== "noOp" };
    };
    const [ours, noOp, plain] = [await prepare("ours"), await prepare("noOp"), await prepare("plain")];
    const sidesWith = (count: number) => ({
      ours: () => runTurn(ours, count),
      noOp: () => runTurn(noOp, count),
      plain: () => runTurn(plain, count),
    });
    await alternate(context, sidesWith(1), { rounds: 1, detail: "one webhook each, to warm up, " });
    const turns = await alternate(context, sidesWith(webhooks), { rounds: engineRounds });
    // The comparison is fair only while both do the same.
    const calls = await Promise.all([ours, plain].map(async ({ service }) => (await service.ask()).calls));
    if (!isDeepStrictEqual(calls[0], calls[1])) {
      throw new Error(`the calls of ours and of the plain way differ: ${JSON.stringify(calls)}`);
    }
    const comparison = (command: "up" | "destroy", side: "noOp" | "plain", atMost: number): Measurement =>
      summarize(
        {
          what: `pulumi ${command} of ${webhooks} webhooks (time)`,
          against: side === "noOp" ? "a no-op dynamic resource" : "the same as a plain closure",
          target: { atMost },
          combine: ratio,
        },
        { ours: turns.ours.map((turn) => turn[command]), bare: turns[side].map((turn) => turn[command]) },
      );
    return [
      comparison("up", "noOp", 1.15),
      comparison("destroy", "noOp", 1.15),
      comparison("up", "plain", 0.85),
    ];
  },
};

interface Bed {
  service: Child<ServiceReport>;
  project: Project;
  registers: boolean;
}

/** How long the two commands take, in milliseconds. */
async function runTurn({ service, project, registers }: Bed, count: number) {
  await project.declare(count);
  const up = await timeOf(() => project.pulumi("up"));
  await requireRegistered(service, registers ? count : 0);
  const destroy = await timeOf(() => project.pulumi("destroy"));
  await requireRegistered(service, 0);
  return { up, destroy };
}

/** A turn counts only if everything is registered. */
export async function requireRegistered(service: Child<ServiceReport>, expected: number): Promise<void> {
  const { registered } = await service.ask();
  if (registered !== expected) {
    throw new Error(`${registered} webhooks are registered, and should be ${expected}`);
  }
}

/** How much of the state one webhook takes. */
const stateRow: Row = {
  name: "state",
  title: "The state of one webhook: about 15 seconds",
  measure: async ({ signal }) => {
    await using service = await startService(1);
    const given = { service: service.ready, signal };
    await using ours = await createProject("ours", given);
    await using noOp = await createProject("noOp", given);
    const [our, other] = [await registerOne(ours), await registerOne(noOp)];
    // Without the indentation of the export.
    const [ourBytes, otherBytes] = [JSON.stringify(our).length, JSON.stringify(other).length];
    const size = summarize(
      {
        what: `exported state of one webhook (${ourBytes} bytes)`,
        against: `a no-op dynamic resource (${otherBytes} bytes)`,
        target: { atMost: 1.3 },
        combine: ratio,
      },
      { ours: [ourBytes], bare: [otherBytes] },
    );
    const provider = { what: "__provider in it", value: our.inputs[PROVIDER].length, unit: "bytes" } as const;
    return [size, measureOnce({ ...provider, target: { atMost: 200 } })];
  },
};

async function registerOne(project: Project): Promise<StateResource> {
  await project.declare(1);
  await project.pulumi("up");
  const [resource] = await project.exportResources();
  if (!resource) throw new Error("the exported state holds no webhook");
  await project.pulumi("destroy");
  return resource;
}

const MANY = 1000;
/** The webhooks of this row are never registered: only their names and keys count. */
const NO_SERVICE = { serviceUrl: "http://127.0.0.1:9", endpointUrl: "http://127.0.0.1:9/" };

/** What one `HandshakeResponder` of many workspaces takes, against one of a single workspace. */
const manyWorkspacesRow: Row = {
  name: "many-workspaces",
  title: `A HandshakeResponder of ${MANY} workspaces, one rotation of all: about half a minute`,
  measure: async ({ signal, update }) => {
    await using project = await createProject("responder", { service: NO_SERVICE, signal });
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
  },
};

async function rotateResponder(project: Project, workspaces: number) {
  await project.declare(workspaces, { verificationKey: "first-key-0123456789" });
  try {
    const up = await timeOf(() => project.pulumi("up"));
    await project.declare(workspaces, { verificationKey: "second-key-0123456789" });
    const rotation = await timeOf(() => project.pulumi("up"));
    return { up, rotation, destroy: await timeOf(() => project.pulumi("destroy")) };
  } catch (error) {
    // Its process would outlive the project.
    await project.pulumi("destroy");
    throw error;
  }
}

export const engineRows = [stateRow, engineRow, manyWorkspacesRow];
