import { withBed } from "./bed.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { PROVIDER, type Project, type StateResource } from "./project.ts";

/** How much of the state one webhook takes. */
export const stateRow: Row = {
  name: "state",
  title: "The state of one webhook: about 15 seconds",
  measure: measureState,
};

async function measureState({ signal, update }: RowContext): Promise<Measurement[]> {
  const [ours, noOp] = await withBed(
    { sides: ["ours", "noOp"], workspaces: 1, signal },
    async ({ projects }) => {
      update("ours");
      const resource = await registerOne(projects.ours);
      update("the no-op resource");
      return [resource, await registerOne(projects.noOp)] as const;
    },
  );
  const [ourBytes, noOpBytes] = [bytesOf(ours), bytesOf(noOp)];
  const ratio = ourBytes / noOpBytes;
  const providerBytes = Buffer.byteLength(ours.inputs[PROVIDER]);
  return [
    {
      what: `exported state of one webhook (${ourBytes} bytes)`,
      against: `a no-op dynamic resource (${noOpBytes} bytes)`,
      value: ratio,
      unit: "ratio",
      target: { atMost: 1.3 },
      rounds: [ratio],
      samples: { oursBytes: [ourBytes], noOpBytes: [noOpBytes] },
    },
    {
      what: "__provider in it",
      against: "",
      value: providerBytes,
      unit: "bytes",
      target: { atMost: 200 },
      rounds: [providerBytes],
      samples: {},
    },
  ];
}

async function registerOne(project: Project): Promise<StateResource> {
  await project.declare(1);
  await project.up();
  const [resource] = await project.exportResources();
  if (!resource) throw new Error("the exported state holds no webhook");
  await project.destroy();
  return resource;
}

/** Without the indentation of the export. */
const bytesOf = (resource: StateResource): number => Buffer.byteLength(JSON.stringify(resource));
