import type {
  FleetIndex,
  ProgramTask,
  StackTask,
  TaskOptions,
  Workers,
} from "../../../provider/fleet/engine/task.ts";
import type { Failure, StackReport, WebhookReport } from "../../../provider/fleet/reports.ts";

/** What one task of one stack does instead of what the fake does by itself. */
export type Script = (
  options: TaskOptions,
  task: StackTask,
) => Partial<StackReport> | Promise<Partial<StackReport>>;

/**
 * Stands in for the worker processes: keeps which workspaces each stack holds, and says what an engine would. The processes
 * and the engine are tested in test/engine.
 */
export class FakeWorkers implements Workers {
  /** The workspaces of each stack that exists. */
  readonly backend = new Map<string, Set<string>>();
  /** What was written to the index stack, in order. */
  readonly indexes: FleetIndex[] = [];
  /** Every task that was begun. */
  readonly begun: StackTask[] = [];
  readonly scripts = new Map<string, Script>();
  mostUnderWay = 0;
  closed = 0;
  #underWay = 0;

  async run(task: StackTask, options: TaskOptions): Promise<StackReport> {
    this.begun.push(task);
    this.#underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.#underWay);
    try {
      return await this.#report(task, options);
    } finally {
      this.#underWay -= 1;
    }
  }

  async writeIndex({ stack }: { stack: string }, index: FleetIndex): Promise<void> {
    this.backend.set(stack, new Set());
    this.indexes.push(structuredClone(index));
  }

  async readIndex({ stack }: { stack: string }): Promise<FleetIndex | undefined> {
    return this.backend.has(stack) ? structuredClone(this.indexes.at(-1)) : undefined;
  }

  async listStacks(): Promise<string[]> {
    return [...this.backend.keys()];
  }

  async removeIndex({ stack }: { stack: string }): Promise<void> {
    this.backend.delete(stack);
  }

  async close(): Promise<void> {
    this.closed += 1;
  }

  /** The names of the stacks that were begun, since the last call. */
  takeBegun(): string[] {
    return this.begun.splice(0).map(({ stack }) => stack);
  }

  async #report(task: StackTask, options: TaskOptions): Promise<StackReport> {
    const { stack } = task;
    const scripted = await this.scripts.get(stack)?.(options, task);
    const outcome = scripted?.outcome ?? "done";
    const webhooks = scripted?.webhooks ?? (outcome === "done" ? this.#apply(task) : []);
    for (const webhook of webhooks) options.onEvent({ type: "webhook", webhook });
    return { stack, outcome, seconds: 0, webhooks, failures: [], notes: [], ...scripted };
  }

  #apply(task: StackTask): WebhookReport[] {
    const held = this.backend.get(task.stack) ?? new Set<string>();
    if (!("workspaces" in task)) {
      if (task.action === "destroy") this.backend.delete(task.stack);
      return [...held].map((name) => reportOf(name, task.action === "destroy" ? "delete" : "same"));
    }
    const wanted = new Map(task.workspaces.map((workspace) => [workspace.name, workspace]));
    if (task.action === "up") this.backend.set(task.stack, new Set(wanted.keys()));
    return [...new Set([...held, ...wanted.keys()])].map((name) => {
      if (!wanted.has(name)) return reportOf(name, "delete");
      return withUrl(reportOf(name, held.has(name) ? "same" : "create"), task, name);
    });
  }
}

export const botUrlOf = (workspace: string): string => `https://bots.example/api/apichat/${workspace}`;

const reportOf = (workspace: string, change: WebhookReport["change"]): WebhookReport => ({
  workspace,
  change,
  botUrl: botUrlOf(workspace),
});

/** As a real program would, which takes the URL from the list. */
function withUrl(report: WebhookReport, { workspaces, action }: ProgramTask, name: string): WebhookReport {
  const webhookUrl = workspaces.find((workspace) => workspace.name === name)?.webhookUrl;
  const { botUrl, ...planned } = report;
  const known = action === "preview" && report.change === "create" ? planned : { ...planned, botUrl };
  return webhookUrl === undefined ? known : { ...known, webhookUrl };
}

/** A script: tells of so many failures as they come, and ends as failed with all of them. */
export const failing =
  (count: number): ((...given: Parameters<Script>) => Partial<StackReport>) =>
  ({ onEvent }, { stack }) => {
    const failures = Array.from({ length: count }, (_, index): Failure => {
      return { stack, workspace: `w${index}`, message: `${stack} w${index}: refused` };
    });
    for (const failure of failures) onEvent({ type: "failure", failure });
    return { outcome: "failed", failures, webhooks: [] };
  };

/** A script: waits until the run ends it, as an engine that is asked to stop. */
export const untilStopped: Script = async ({ signal }) => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  return { outcome: "stopped", webhooks: [] };
};
