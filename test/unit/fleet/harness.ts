import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { resolveFleet } from "../../../provider/fleet/resolve.ts";
import type { FleetContext } from "../../../provider/fleet/run-context.ts";
import type { FleetEvent } from "../../../provider/fleet/run-options.ts";
import type { ListedWorkspace } from "../../../provider/workspace-list/entry-shape.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { afterTests } from "../../support/http.ts";
import { FakeWorkers } from "./fake-workers.ts";

/** Names that the hash spreads over every one of four stacks. */
export const NAMES = Array.from({ length: 24 }, (_, index) => `w${index}`);

export const listOf = (names: readonly string[], fields: Partial<ListedWorkspace> = {}): ListedWorkspace[] =>
  names.map((name) => ({
    name,
    baseUrl: `https://platform.example/${name}/apichat`,
    webhookUrl: "https://chat.example/webhooks/apichat",
    ...fields,
  }));

export interface TestFleet {
  context: FleetContext;
  workers: FakeWorkers;
  /** Everything that `onEvent` was told. */
  events: FleetEvent[];
  onEvent: (event: FleetEvent) => void;
  programFile: string;
  dataDir: string;
  /** The same fleet, backend and folder with another list or another number of stacks, as the next command would open it. */
  reopen(change?: { workspaces?: readonly ListedWorkspace[]; stacks?: number }): Promise<TestFleet>;
}

/** A fleet of four stacks, with a module of its own, on a fake of the worker processes. */
export async function openTestFleet(
  workspaces: readonly ListedWorkspace[] = listOf(NAMES),
): Promise<TestFleet> {
  const folder = await mkdtemp(join(tmpdir(), "fleet-"));
  afterTests(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "program.ts"), "export default () => ({});\n");
  return openIn({ folder, workspaces, stacks: 4, workers: new FakeWorkers() });
}

/** One whose workspaces are deployed; nothing of that is in `begun`. */
export async function openDeployed(names: readonly string[] = NAMES): Promise<TestFleet> {
  const fleet = await openTestFleet(listOf(names));
  expect(await upFleet(fleet.context, {})).toMatchObject({ outcome: "done" });
  fleet.workers.begun.length = 0;
  return fleet;
}

async function openIn(place: {
  folder: string;
  workspaces: readonly ListedWorkspace[];
  stacks: number;
  workers: FakeWorkers;
}): Promise<TestFleet> {
  const { folder, workspaces, stacks, workers } = place;
  const programFile = join(folder, "program.ts");
  const program = pathToFileURL(programFile);
  const fleet = await resolveFleet({ name: "test", stacks, workspaces, program });
  const events: FleetEvent[] = [];
  return {
    context: { fleet, workers, environment: {} },
    workers,
    events,
    onEvent: (event) => void events.push(event),
    programFile,
    dataDir: fleet.dataDir,
    reopen: (change = {}) => openIn({ ...place, ...change }),
  };
}

/** The name of one of the four stacks. */
export const stackAt = (index: number): string => `test-${index}-of-4`;

/** The workspaces that the hash puts into a stack. */
export const namesIn = ({ context: { fleet } }: TestFleet, index: number): string[] =>
  (fleet.stacks[index]?.workspaces ?? []).map(({ name }) => name);
