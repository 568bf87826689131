import { isDeepStrictEqual } from "node:util";
import { watchCpu } from "../cpu.ts";
import { startService, type Child, type ServiceReport } from "../child.ts";
import { alternate, measureOnce, ratio, summarize, timeOf, type Measurement, type Row } from "../measure.ts";
import { createProject, PROVIDER, type Project, type Side, type StateResource } from "../project.ts";

/** What this package costs, and saves, in `pulumi up` and `pulumi destroy` of many webhooks. */
const engineRow: Row = {
  name: "engine",
  title: "pulumi up and destroy of many webhooks, five ways: eight to fifteen minutes",
  measure: async (context) => {
    const { webhooks, engineRounds, signal } = context;
    await using resources = new AsyncDisposableStack();
    const prepare = async (side: Side) => {
      const service = resources.use(await startService(webhooks));
      const project = resources.use(await createProject(side, { service: service.ready, signal }));
      return { service, project, registers: side !== "noOp" };
    };
    const [ours, noOp, plain] = [await prepare("ours"), await prepare("noOp"), await prepare("plain")];
    const [plugin, yaml] = [await prepare("plugin"), await prepare("yaml")];
    const sidesWith = (count: number) => ({
      ours: () => runTurn(ours, count),
      noOp: () => runTurn(noOp, count),
      plain: () => runTurn(plain, count),
      plugin: () => runTurn(plugin, count),
      yaml: () => runTurn(yaml, count),
    });
    await alternate(context, sidesWith(1), { rounds: 1, detail: "one webhook each, to warm up, " });
    const turns = await alternate(context, sidesWith(webhooks), { rounds: engineRounds });
    // The comparison is fair only while both do the same.
    const beds = [ours, plain, plugin, yaml];
    const calls = await Promise.all(beds.map(async ({ service }) => (await service.ask()).calls));
    if (!calls.every((each) => isDeepStrictEqual(each, calls[0]))) {
      throw new Error(`the calls of the ways differ: ${JSON.stringify(calls)}`);
    }
    const comparison = (command: "up" | "destroy", pair: Pair, atMost: number): Measurement =>
      summarize(
        {
          what: `pulumi ${command} of ${webhooks} webhooks${WAYS[pair[0]]} (time)`,
          against: AGAINST[pair[1]],
          target: { atMost },
          combine: ratio,
        },
        {
          ours: turns[pair[0]].map((turn) => turn[command]),
          bare: turns[pair[1]].map((turn) => turn[command]),
        },
      );
    return [
      comparison("up", ["ours", "noOp"], 1.15),
      comparison("destroy", ["ours", "noOp"], 1.15),
      comparison("up", ["ours", "plain"], 0.85),
      comparison("up", ["yaml", "noOp"], 0.6),
      comparison("up", ["plugin", "ours"], 0.75),
    ];
  },
};

/** What is compared with what. */
type Pair = readonly [keyof typeof WAYS, keyof typeof AGAINST];
const WAYS = { ours: "", plugin: " on the plugin, Node program", yaml: " on the plugin, YAML program" };
const AGAINST = {
  ours: "the dynamic provider",
  noOp: "a no-op dynamic resource",
  plain: "the same as a plain closure",
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
    await using plugin = await createProject("plugin", given);
    const [our, other] = [await registerOne(ours), await registerOne(noOp)];
    const size = compareStates(["", our], ["a no-op dynamic resource", other], 1.3);
    const onPlugin = [" on the plugin, Node program", await registerOne(plugin)] as const;
    const pluginSize = compareStates(onPlugin, ["the dynamic provider", our], 0.95);
    const provider = { what: "__provider in it", value: our.inputs[PROVIDER].length, unit: "bytes" } as const;
    return [size, measureOnce({ ...provider, target: { atMost: 200 } }), pluginSize];
  },
};

/** Two states of one webhook, without the indentation of the export, each with whose it is. */
function compareStates(
  [way, our]: readonly [string, StateResource],
  [against, other]: readonly [string, StateResource],
  atMost: number,
): Measurement {
  const [ourBytes, otherBytes] = [JSON.stringify(our).length, JSON.stringify(other).length];
  return summarize(
    {
      what: `exported state of one webhook${way} (${ourBytes} bytes)`,
      against: `${against} (${otherBytes} bytes)`,
      target: { atMost },
      combine: ratio,
    },
    { ours: [ourBytes], bare: [otherBytes] },
  );
}

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

/** What provider and program compute for a webhook: on a busy machine more steady than the time. */
const cpuRow: Row = {
  name: "plugin-cpu",
  title: "CPU of provider and program, three ways: about five minutes",
  measure: async (context) => {
    const { webhooks, engineRounds, signal } = context;
    await using resources = new AsyncDisposableStack();
    const prepare = async (side: Side): Promise<() => Promise<number>> => {
      const service = resources.use(await startService(webhooks));
      const project = resources.use(await createProject(side, { service: service.ready, signal }));
      await project.declare(webhooks);
      return async () => {
        const cpuMs = await watchCpu(project.marker, () => project.pulumi("up"));
        await requireRegistered(service, webhooks);
        await project.pulumi("destroy");
        return cpuMs / webhooks;
      };
    };
    const sides = {
      ours: await prepare("ours"),
      plugin: await prepare("plugin"),
      yaml: await prepare("yaml"),
    };
    const turns = await alternate(context, sides, { rounds: engineRounds });
    return (["yaml", "plugin"] as const).map((side) =>
      summarize(
        {
          what: `CPU of provider and program for one of ${webhooks} webhooks${WAYS[side]}`,
          against: AGAINST.ours,
          target: { atMost: 0.6 },
          combine: ratio,
        },
        { ours: turns[side], bare: turns.ours },
      ),
    );
  },
};

export const engineRows = [stateRow, engineRow, cpuRow, manyWorkspacesRow];
