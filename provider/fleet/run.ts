import { invalidFields } from "../errors/index.js";
import { invalidConfig } from "../lib/files.js";
import { listNames } from "../lib/plain-text.js";
import { parse } from "../lib/validate.js";
import type { ResolvedFleet } from "./definition.js";
import type { Engine, StackTask } from "./engine.js";
import {
  numbersOf,
  OPTIONS_OF,
  optionsShape,
  type FilledOptions,
  type FleetEvent,
  type RunOptions,
} from "./options.js";
import { countInName, type PlacedStack } from "./placement.js";
import type { FleetAction, FleetFailure, FleetReport, StackReport } from "./reports.js";
import { callWebhook, webhooksOf, type Webhooks } from "./webhooks.js";

export interface FleetContext {
  fleet: ResolvedFleet;
  stacks: readonly PlacedStack[];
  engine: Engine;
}

/** One run over the stacks of a fleet, or over one shard of them. */
export interface FleetRun<Action extends FleetAction = FleetAction> extends FleetContext {
  action: Action;
  options: FilledOptions;
  places: readonly PlacedStack[];
  /** Whether the run includes all stacks. A shard does not write the index: others may run at the same time. */
  isWhole: boolean;
  existing: ReadonlySet<string>;
  /** The arguments of its stacks' webhooks; empty for a command that runs no program. */
  webhooks: Webhooks;
  /** Milliseconds since 1970. */
  startedAt: number;
  stop: RunStop;
}

export async function beginRun<Action extends FleetAction>(
  { fleet, stacks: all, engine }: FleetContext,
  action: Action,
  given: RunOptions,
): Promise<FleetRun<Action>> {
  const { problems } = parse(OPTIONS_OF[action], given);
  if (problems) throw invalidFields(problems, { where: action });
  const options = optionsShape.parse(given);
  const [shard, shards] = numbersOf(options.shard);
  // Round-robin, so that shards differ by at most one stack.
  const stacks = all.filter((_, index) => index % shards === shard - 1);
  const webhooks: Webhooks = ["refresh", "destroy"].includes(action) ? new Map() : callWebhook(fleet, stacks);
  const existing = new Set(await engine.listStacks());
  requireSameSplit(fleet.name, all.length, existing);
  const places = stacks.filter(({ name, workspaces }) => {
    if (action === "rotate") return workspaces.length > 0;
    // An existing stack is run even if all its workspaces have left the list.
    return existing.has(name) || (["plan", "up"].includes(action) && workspaces.length > 0);
  });
  const stop = new RunStop(given);
  const workspaces = places.reduce((sum, place) => sum + place.workspaces.length, 0);
  stop.emit({ type: "run-started", action, stacks: places.length, workspaces });
  const isWhole = shards === 1;
  const startedAt = Date.now();
  return { fleet, engine, stacks, action, options, places, isWhole, existing, webhooks, startedAt, stop };
}

/** Throws if existing stacks' names contain another count: a workspace moved to a new stack would lose its webhook. */
function requireSameSplit(fleet: string, count: number, existing: ReadonlySet<string>): void {
  const others = [...existing].filter((name) => (countInName(fleet, name) ?? count) !== count).toSorted();
  const [first] = others;
  if (first === undefined) return;
  throw invalidConfig([
    `stacks: got ${count}, but the backend has ${listNames(others, 1)}; a different number would move ` +
      "workspaces to other stacks and delete their live webhooks. Nothing was changed. " +
      `Set stacks: ${countInName(fleet, first)}, or first move the resources with pulumi state move and remove the ` +
      "old stacks",
  ]);
}

/** Ends a run early. If there are several reasons, only the first is kept. */
class RunStop {
  readonly #controller = new AbortController();
  readonly #onEvent: RunOptions["onEvent"];
  /** Fires when no more stacks may start and running ones must end. */
  readonly signal: AbortSignal = this.#controller.signal;
  why: string | undefined;
  thrown: { error: unknown } | undefined;

  constructor({ signal, onEvent }: RunOptions) {
    this.#onEvent = onEvent;
    const interrupt = (): void => this.stop("interrupted");
    if (signal?.aborted) interrupt();
    else signal?.addEventListener("abort", interrupt, { once: true });
  }

  stop(why: string): void {
    if (this.why !== undefined) return;
    this.why = why;
    this.#controller.abort();
    this.emit({ type: "stopping", why });
  }

  /** Ends the run if `onEvent` throws: engines must not continue if nothing handles their events. */
  emit(event: FleetEvent): void {
    try {
      this.#onEvent?.(event);
    } catch (error) {
      this.thrown ??= { error };
      this.stop("the handler of the run's events failed");
    }
  }
}

export type StackResults = Pick<FleetReport, "stacks" | "skipped" | "failures">;

/**
 * Runs one task for each stack, a limited number at a time. Ends early and skips the rest if the signal fires
 * or there are too many failures. Rejects only with what `onEvent` threw.
 */
export async function runStacks(
  run: FleetRun,
  task: Pick<StackTask, "action" | "rotation" | "refresh">,
  places = run.places,
): Promise<StackResults> {
  const { stop, options, existing, webhooks } = run;
  const atOnce = Math.min(options.stacksAtOnce, places.length);
  const callsPerOrigin = Math.max(1, Math.floor(options.callsPerOrigin / Math.max(1, atOnce)));
  const reports = new Map<PlacedStack, StackReport>();
  // A stack's report repeats failures that its events have already reported.
  const failures = new Set<FleetFailure>();
  const note = (failure: FleetFailure): void => {
    if (failures.has(failure)) return;
    failures.add(failure);
    noteFailure(run, failure, failures.size);
  };
  const runTask = async (place: PlacedStack): Promise<void> => {
    const { name: stack, workspaces } = place;
    stop.emit({ type: "stack-started", stack, workspaces: workspaces.length });
    const report = await run.engine.run({
      ...task,
      stack: place,
      exists: existing.has(stack),
      webhooks: webhooksOf(place, webhooks),
      callsPerOrigin,
      signal: stop.signal,
      onEvent: (event) => (event.type === "failure" ? note(event.failure) : stop.emit({ ...event, stack })),
    });
    reports.set(place, report);
    report.failures.forEach(note);
    stop.emit({ type: "stack-ended", report });
  };
  // All workers take stacks from one iterator, so that each stack runs once.
  const queue = places.values();
  const takeStacks = async (): Promise<void> => {
    for (const place of queue) if (!stop.signal.aborted) await runTask(place);
  };
  await Promise.all(Array.from({ length: atOnce }, takeStacks));
  if (stop.thrown) throw stop.thrown.error;
  return {
    stacks: places.flatMap((place) => reports.get(place) ?? []),
    skipped: places.filter((place) => !reports.has(place)).map(skip),
    failures: [...failures],
  };
}

export const skip = ({ name: stack, workspaces }: PlacedStack): StackResults["skipped"][number] => ({
  stack,
  workspaces: workspaces.length,
});

/** Reports a failure. Ends the run if `count`, the number of failures, reaches `stopAfterFailures`. */
export function noteFailure({ stop, options }: FleetRun, failure: FleetFailure, count: number): void {
  const most = options.stopAfterFailures;
  stop.emit({ type: "failure", failure });
  if (count >= most) stop.stop(`${most === 1 ? "1 failure" : `${most} failures`}, the limit`);
}

/** Creates a run's report from the results of its stacks and later failures, such as one of the index stack. */
export function toFleetReport<Action extends FleetAction>(
  { fleet, action, options, isWhole, startedAt, stop }: FleetRun<Action>,
  ran: StackResults,
  more: readonly FleetFailure[] = [],
): FleetReport<Action> {
  const failures = [...ran.failures, ...more];
  const isStopped = ran.skipped.length > 0 || ran.stacks.some(({ outcome }) => outcome === "stopped");
  return {
    ...ran,
    failures,
    fleet: fleet.name,
    action,
    ...(!isWhole && { shard: options.shard }),
    outcome: isStopped ? "stopped" : failures.length > 0 ? "failed" : "done",
    startedAt: new Date(startedAt).toISOString(),
    seconds: (Date.now() - startedAt) / 1000,
    // A run that had nothing left to do when it was asked to stop does not count as stopped.
    ...(isStopped && stop.why !== undefined && { stoppedBy: stop.why }),
  };
}
