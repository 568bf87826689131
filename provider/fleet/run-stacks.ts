import { REPORT_VARIABLE } from "../lib/provider-process.js";
import type { StackEvent, StackTask } from "./engine/task.js";
import { describeTooMany } from "./failure-texts.js";
import type { Journal } from "./journal.js";
import type { Failure, FleetReport, Outcome, StackReport } from "./reports.js";
import type { RunContext } from "./run-context.js";
import { limitsOf, type FleetEvent, type RunOptions } from "./run-options.js";
import { RunStop } from "./run-stop.js";

export interface RunStacksOptions extends RunOptions {
  /** Stacks that it calls done are skipped, and those that get done are noted in it. */
  journal?: Journal;
}

/** What became of the stacks. The numbers of calls are those of the whole run so far. */
export type StacksRun = Pick<
  FleetReport,
  "outcome" | "stacks" | "skipped" | "failures" | "stoppedBy" | "calls" | "answers429"
>;

/**
 * Runs one task for each stack, a bounded number at once. Ends early, and leaves out the rest, when the signal fires, when
 * the failures are too many, or when the budget for HTTP 429 is spent. Rejects only with what `onEvent` or the journal threw.
 */
export async function runStacks(
  context: RunContext,
  tasks: readonly StackTask[],
  options: RunStacksOptions,
): Promise<StacksRun> {
  const run = new RunOfStacks(context, options);
  return run.run(tasks);
}

/** Tells how much there is to do. The numbers are those of the tasks. */
export function tellStart(
  { action, fleet }: RunContext,
  tasks: readonly StackTask[],
  { onEvent }: RunOptions,
): void {
  const names = new Set(tasks.map(({ stack }) => stack));
  const counts = fleet.stacks.map(({ name, workspaces }) => (names.has(name) ? workspaces.length : 0));
  const workspaces = counts.reduce((sum, count) => sum + count, 0);
  onEvent?.({ type: "run-started", action, stacks: tasks.length, workspaces });
}

type Skipped = FleetReport["skipped"][number];

class RunOfStacks {
  readonly #context: RunContext;
  readonly #options: RunStacksOptions;
  readonly #limits: ReturnType<typeof limitsOf>;
  readonly #stop: RunStop;
  readonly #reports = new Map<string, StackReport>();
  readonly #skipped: Skipped[] = [];
  readonly #failures: Failure[] = [];
  /** What `onEvent` or the journal threw first. */
  #thrown: { error: unknown } | undefined;

  constructor(context: RunContext, options: RunStacksOptions) {
    this.#context = context;
    this.#options = options;
    this.#limits = limitsOf(options);
    this.#stop = new RunStop(context.action, (why) => this.#emit({ type: "stopping", why }));
  }

  async run(tasks: readonly StackTask[]): Promise<StacksRun> {
    const letGo = this.#stop.follow(this.#context, this.#options);
    // All take from one iterator, so that each task is taken once.
    const queue = tasks.values();
    const takeTasks = async (): Promise<void> => {
      for (const task of queue) await this.#take(task);
    };
    try {
      await Promise.all(Array.from({ length: this.#limits.stacksAtOnce }, takeTasks));
    } finally {
      letGo();
    }
    if (this.#thrown) throw this.#thrown.error;
    return this.#sumUp(tasks);
  }

  async #take(task: StackTask): Promise<void> {
    if (this.#options.journal?.isDone(task) === true) return this.#skip(task, "done-before");
    if (this.#stop.signal.aborted) return this.#skip(task, "stopped");
    try {
      await this.#runTask(task);
    } catch (error) {
      this.#end(error);
    }
  }

  #skip({ stack }: StackTask, why: Skipped["why"]): void {
    this.#skipped.push({ stack, workspaces: this.#countWorkspaces(stack), why });
  }

  async #runTask(task: StackTask): Promise<void> {
    const { stack } = task;
    const { workers, gate } = this.#context;
    const told = new Set<string>();
    this.#emit({ type: "stack-started", stack, workspaces: this.#countWorkspaces(stack) });
    const report = await workers.run(task, {
      signal: this.#stop.signal,
      onEvent: (event) => this.#pass(event, { stack, told }),
      environment: { ...gate.environment, [REPORT_VARIABLE]: "json" },
    });
    this.#reports.set(stack, report);
    for (const failure of report.failures) this.#noteFailure(failure, told);
    if (report.outcome === "done") await this.#options.journal?.note(task, report);
    this.#emit({ type: "stack-ended", report });
  }

  #pass(event: StackEvent, { stack, told }: { stack: string; told: Set<string> }): void {
    if (event.type === "failure") this.#noteFailure(event.failure, told);
    else this.#emit({ ...event, stack });
  }

  /** Counts a failure as it comes; the report names it again. */
  #noteFailure(failure: Failure, told: Set<string>): void {
    const name = JSON.stringify([failure.workspace, failure.message]);
    if (told.has(name)) return;
    told.add(name);
    this.#failures.push(failure);
    this.#emit({ type: "failure", failure });
    const { stopAfterFailures } = this.#limits;
    if (this.#failures.length < stopAfterFailures) return;
    this.#stop.stop(describeTooMany(stopAfterFailures));
  }

  #emit(event: FleetEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch (error) {
      this.#end(error);
    }
  }

  /** Ends the run; it rejects with the error when the stacks under way have ended. */
  #end(error: unknown): void {
    if (this.#thrown) return;
    this.#thrown = { error };
    this.#stop.stop("the program that drives the fleet failed");
  }

  #countWorkspaces(stack: string): number {
    return this.#context.fleet.stacks.find(({ name }) => name === stack)?.workspaces.length ?? 0;
  }

  #sumUp(tasks: readonly StackTask[]): StacksRun {
    const { gate } = this.#context;
    const stacks = tasks.flatMap(({ stack }) => this.#reports.get(stack) ?? []);
    const outcome = this.#outcome(stacks);
    return {
      outcome,
      stacks,
      skipped: this.#skipped,
      failures: this.#failures,
      // A run that had nothing left when it was to stop was not stopped.
      ...(outcome === "stopped" && this.#stop.why !== undefined ? { stoppedBy: this.#stop.why } : {}),
      calls: gate.calls(),
      answers429: gate.answers429(),
    };
  }

  #outcome(stacks: readonly StackReport[]): Outcome {
    const isStopped =
      this.#skipped.some(({ why }) => why === "stopped") ||
      stacks.some(({ outcome }) => outcome === "stopped");
    if (isStopped) return "stopped";
    return this.#failures.length > 0 || stacks.some(({ outcome }) => outcome === "failed")
      ? "failed"
      : "done";
  }
}
