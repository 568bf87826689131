import type { Measurement, Row, RowContext } from "./measurement.ts";
import { createProject, type Project } from "./project.ts";
import { timeOf } from "./statistics.ts";

const MANY = 1_000;
/** The webhooks of this row are never registered: only their names and keys count. */
const NO_SERVICE = { serviceUrl: "http://127.0.0.1:9", endpointUrl: "http://127.0.0.1:9" };

const COMMANDS = ["up", "rotation", "destroy"] as const;
type Times = Record<(typeof COMMANDS)[number], number>;

/** What one `HandshakeResponder` of many workspaces takes, against one of a single workspace. */
export const manyWorkspacesRow: Row = {
  name: "many-workspaces",
  title: `A HandshakeResponder of ${MANY} workspaces, one rotation of all: about half a minute`,
  measure: measureManyWorkspaces,
};

async function measureManyWorkspaces({ signal, update }: RowContext): Promise<Measurement[]> {
  const project = await createProject("responder", { service: NO_SERVICE, signal });
  try {
    update("one workspace");
    const one = await measureTurn(project, 1);
    update(`${MANY} workspaces`);
    const many = await measureTurn(project, MANY);
    return COMMANDS.map((command) => ({
      what: `${command} of a HandshakeResponder of ${MANY} workspaces (time)`,
      against: "of one workspace",
      value: many[command] / one[command],
      unit: "ratio",
      target: { atMost: 3 },
      rounds: [many[command] / one[command]],
      samples: { many: [many[command]], one: [one[command]] },
    }));
  } finally {
    await project.remove();
  }
}

async function measureTurn(project: Project, workspaces: number): Promise<Times> {
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
