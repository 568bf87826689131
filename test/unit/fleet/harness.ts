import { mkdir } from "node:fs/promises";
import { expect } from "vitest";
import {
  resolveFleet,
  type FleetDefinition,
  type WebhookArguments,
} from "../../../provider/fleet/definition.ts";
import type { Engine, StackTask } from "../../../provider/fleet/engine.ts";
import type { FleetIndex } from "../../../provider/fleet/index-stack.ts";
import type { FleetEvent } from "../../../provider/fleet/options.ts";
import { placeWorkspaces } from "../../../provider/fleet/placement.ts";
import type { Drift, StackReport, WebhookReport } from "../../../provider/fleet/reports.ts";
import type { FleetContext } from "../../../provider/fleet/run.ts";
import { upFleet } from "../../../provider/fleet/changes.ts";
import type { ListedWorkspace } from "../../../provider/workspace-list/list-shape.ts";
import { makeFolder } from "../../support/folder.ts";

/** Returns a `webhook` function that passes on the fields of the list's entry, and adds this key. */
export const webhookWith =
  (webhookVerificationKey: WebhookArguments["webhookVerificationKey"]): FleetDefinition["webhook"] =>
  ({ baseUrl, apiKey, webhookUrl = "https://chat.example/" }) => ({
    baseUrl,
    apiKey,
    webhookUrl,
    webhookVerificationKey,
  });

export const randomKeyWebhook = webhookWith({});

/** Enough workspaces that the hash puts some of them into each of four stacks. */
export const NAMES = Array.from({ length: 24 }, (_, index) => `w${index}`);

export const listOf = (names: readonly string[], fields: Partial<ListedWorkspace> = {}): ListedWorkspace[] =>
  names.map((name) => ({
    name,
    baseUrl: `https://platform.example/${name}/apichat`,
    webhookUrl: "https://chat.example/webhooks/apichat",
    ...fields,
  }));

/** Returns what the fake engine reports for a task of one stack. */
export type Script = (task: StackTask) => Partial<StackReport> | Promise<Partial<StackReport>>;

export const botUrlOf = (workspace: string): string => `https://bots.example/api/apichat/${workspace}`;

export const botUrlsOf = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, botUrlOf(name)]));

/** A fake engine: stores the workspaces of each stack, and reports what a real engine would. */
class FakeEngine implements Pick<
  Engine,
  "run" | "listStacks" | "readOutputs" | "writeOutputs" | "removeStack" | "apiKey"
> {
  apiKey: string | undefined;
  readonly backend = new Map<string, Set<string>>();
  /** The name of the rotation that was last applied to each stack. */
  readonly #rotations = new Map<string, string>();
  /** The writes to the index stack, in order. */
  readonly indexes: FleetIndex[] = [];
  readonly scripts = new Map<string, Script>();
  #begun: StackTask[] = [];
  mostAtOnce = 0;
  #atOnce = 0;

  async run(task: StackTask): Promise<StackReport> {
    this.#begun.push(task);
    this.mostAtOnce = Math.max(this.mostAtOnce, (this.#atOnce += 1));
    const { name } = task.stack;
    const scripted = await this.scripts.get(name)?.(task);
    const webhooks =
      scripted?.webhooks ?? ((scripted?.outcome ?? "done") === "done" ? this.#apply(task) : []);
    for (const webhook of webhooks) task.onEvent({ type: "webhook", webhook });
    this.#atOnce -= 1;
    const nothing = { failures: [], keys: [] };
    return { stack: name, outcome: "done", seconds: 0, ...nothing, ...scripted, webhooks };
  }

  listStacks = (): Promise<string[]> => Promise.resolve([...this.backend.keys()]);

  readOutputs = (): Promise<Record<string, unknown>> => Promise.resolve({ ...this.indexes.at(-1) });

  async writeOutputs(stack: string, outputs: Record<string, unknown>): Promise<void> {
    this.backend.set(stack, new Set());
    this.indexes.push(structuredClone(outputs) as unknown as FleetIndex);
  }

  async removeStack(stack: string): Promise<void> {
    this.backend.delete(stack);
  }

  /** The tasks started since the last call, such as "up test-0-of-4". */
  takeBegun = (): string[] => this.takeTasks().map(({ action, stack }) => `${action} ${stack.name}`);

  takeTasks = (): StackTask[] => this.#begun.splice(0);

  #apply({ action, stack, rotation, webhooks }: StackTask): WebhookReport[] {
    const held = [...(this.backend.get(stack.name) ?? [])];
    if (action === "destroy") this.backend.delete(stack.name);
    if (action === "destroy" || action === "refresh") {
      return held.map((name) => reportOf(name, action === "destroy" ? "delete" : "same"));
    }
    const wanted = stack.workspaces.map(({ name }) => name);
    const isRotated =
      action === "up" && rotation !== undefined && this.#rotations.get(stack.name) !== rotation;
    if (isRotated) this.#rotations.set(stack.name, rotation);
    if (action === "up") this.backend.set(stack.name, new Set(wanted));
    return [
      ...held.filter((name) => !wanted.includes(name)).map((name) => reportOf(name, "delete")),
      ...(wanted.map((workspace) => {
        const isString = typeof webhooks.get(workspace)?.webhookVerificationKey === "string";
        const change = !held.includes(workspace) ? "create" : isRotated && !isString ? "update" : "same";
        // Only an up knows the bot URL of a new webhook; a preview does not.
        return action === "up" || change === "same" ? reportOf(workspace, change) : { workspace, change };
      }) satisfies WebhookReport[]),
    ];
  }
}

const reportOf = (workspace: string, change: WebhookReport["change"]): WebhookReport => ({
  workspace,
  change,
  botUrl: botUrlOf(workspace),
});

export interface TestFleet {
  context: FleetContext;
  engine: FakeEngine;
  /** The events passed to `onEvent`. */
  events: FleetEvent[];
  onEvent: (event: FleetEvent) => void;
  /** Opens the same backend and folder with a different definition, as the next command would. */
  reopen(change: Partial<FleetDefinition>): Promise<TestFleet>;
}

/** Opens a fleet of four stacks on a fake engine. */
export async function openTestFleet(
  change: Partial<FleetDefinition> = {},
  engine = new FakeEngine(),
): Promise<TestFleet> {
  const defaults = { name: "test", workspaces: listOf(NAMES), webhook: randomKeyWebhook };
  const definition = { ...defaults, folder: change.folder ?? (await makeFolder()), stacks: 4, ...change };
  const fleet = await resolveFleet(definition);
  await mkdir(fleet.folder, { recursive: true });
  const stacks = placeWorkspaces(fleet.name, fleet.workspaces, definition.stacks);
  const events: FleetEvent[] = [];
  return {
    context: { fleet, stacks, engine: engine as unknown as Engine },
    engine,
    events,
    onEvent: (event) => void events.push(event),
    reopen: (more) => openTestFleet({ ...definition, ...more }, engine),
  };
}

/** Opens a fleet that has deployed these workspaces, and empties the engine's list of tasks. */
export async function openDeployed(names: readonly string[] = NAMES): Promise<TestFleet & { first: string }> {
  const fleet = await openTestFleet({ workspaces: listOf(names) });
  expect(await upFleet(fleet.context, {})).toMatchObject({ outcome: "done" });
  fleet.engine.takeTasks();
  return { ...fleet, first: namesIn(fleet, 0)[0] ?? "" };
}

export const stackAt = (index: number): string => `test-${index}-of-4`;

/** The workspaces that the hash puts into a stack. */
export const namesIn = ({ context: { stacks } }: TestFleet, index: number): string[] =>
  (stacks[index]?.workspaces ?? []).map(({ name }) => name);

/** A script whose stack fails: emits this many failures as events, then returns them in its report. */
export const failing =
  (count: number): Script =>
  ({ stack: { name: stack }, onEvent }) => {
    const failures = NAMES.slice(0, count).map((workspace) => ({ stack, workspace, message: "refused" }));
    for (const failure of failures) onEvent({ type: "failure", failure });
    return { outcome: "failed", failures };
  };

/** A script that continues until its signal aborts, like an engine that runs until it is asked to stop. */
export const untilStopped: Script = async ({ signal }) => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  return { outcome: "stopped" };
};

/** The drift that a preview with refresh finds after somebody has changed the URL. */
export const CHANGED: Drift = {
  kind: "changed",
  properties: [{ property: "webhookUrl", expected: "https://chat.example/", actual: "https://a.example/" }],
};
