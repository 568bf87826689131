import * as z from "zod";
import { invalidOptions } from "../client/options.js";
import { invalidConfig } from "../lib/files.js";
import { problemsOf } from "../lib/validate.js";
import type { ResolvedFleet } from "./definition.js";
import type { Engine, StackTask } from "./engine.js";
import type { StackEvent } from "./events.js";
import {
  DEFAULT_LIMITS,
  MAX_STACKS_AT_ONCE,
  parseShard,
  type FleetEvent,
  type FleetLimits,
  type RunOptions,
} from "./options.js";
import { countInName, type PlacedStack } from "./placement.js";
import type { Failure, FleetAction, FleetReport, Outcome, StackReport } from "./reports.js";
import { callWebhook, type Webhooks } from "./webhooks.js";

/** What every run of an open fleet needs. */
export interface FleetContext {
  fleet: ResolvedFleet;
  /** All of them, also those without workspaces. */
  stacks: readonly PlacedStack[];
  engine: Engine;
}

/** One run over the stacks of a fleet, or over one shard of them. */
export interface Run extends FleetContext {
  action: FleetAction;
  options: RunOptions;
  /** The stacks of the project that the backend holds. */
  existing: ReadonlySet<string>;
  /** The arguments of the webhooks of its stacks; empty where the engine runs no program. */
  webhooks: Webhooks;
  /** Milliseconds since 1970. */
  startedAt: number;
  stop: RunStop;
}

/** Checks the options, and what the backend holds. Throws `invalid_config`. */
export async function beginRun(
  context: FleetContext,
  action: FleetAction,
  options: RunOptions,
): Promise<Run> {
  requireRunOptions(action, options);
  const { fleet, engine } = context;
  const shard = parseShard(options.shard ?? "1/1");
  // By turns, so that shards differ by one stack at most.
  const stacks = context.stacks.filter(
    ({ index }) => shard === undefined || index % shard.shards === shard.shard - 1,
  );
  const webhooks: Webhooks = ["refresh", "destroy"].includes(action) ? new Map() : callWebhook(fleet, stacks);
  const names = await engine.listStacks();
  requireSameSplit(fleet.name, context.stacks.length, names);
  const stop = new RunStop(action, options);
  return {
    fleet,
    engine,
    stacks,
    action,
    options,
    existing: new Set(names),
    webhooks,
    startedAt: Date.now(),
    stop,
  };
}

/** Another split would move workspaces, and a workspace that moves loses its live webhook. */
function requireSameSplit(fleet: string, count: number, names: readonly string[]): void {
  const others = names.filter((name) => (countInName(fleet, name) ?? count) !== count).toSorted();
  const [first] = others;
  if (first === undefined) return;
  const more = others.length > 1 ? ` and ${others.length - 1} more` : "";
  throw invalidConfig([
    `stacks: ${count} is given, but the backend holds ${first}${more}; another number would move workspaces to other ` +
      "stacks, and delete their live webhooks on the way. Nothing was changed. " +
      `Give stacks: ${countInName(fleet, first)}, or first move the resources with pulumi state move and remove the old stacks`,
  ]);
}

export const limitsOf = ({
  stacksAtOnce = DEFAULT_LIMITS.stacksAtOnce,
  callsPerOrigin = DEFAULT_LIMITS.callsPerOrigin,
  stopAfterFailures = DEFAULT_LIMITS.stopAfterFailures,
}: FleetLimits): typeof DEFAULT_LIMITS => ({ stacksAtOnce, callsPerOrigin, stopAfterFailures });

/** What to do next, for each action. Nothing that was done is lost. */
const NEXT: Record<FleetAction, string> = {
  plan: "nothing was changed; run plan again",
  up: "what was in progress was stored; run up again, or up --only-failed",
  refresh: "what was in progress was stored; run refresh again",
  destroy: "what was removed stays removed; run destroy again",
  rotate: "what was in progress was stored; run rotate again with the same rotation",
  watch: "nothing was changed; run watch again",
};

/** Ends a run early: once, with the first reason that comes. */
class RunStop {
  readonly #controller = new AbortController();
  readonly #action: FleetAction;
  readonly #options: RunOptions;
  /** What `onEvent` threw first. */
  thrown: { error: unknown } | undefined;

  constructor(action: FleetAction, options: RunOptions) {
    this.#action = action;
    this.#options = options;
    const { signal } = options;
    const interrupt = (): void => this.stop("interrupted");
    if (signal?.aborted === true) interrupt();
    else signal?.addEventListener("abort", interrupt, { once: true });
  }

  /** Fires when no further stack is to begin, and those that run are to end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the run ends, and what to do next; undefined while it does not end. */
  get why(): string | undefined {
    return this.signal.aborted ? (this.signal.reason as Error).message : undefined;
  }

  /** Ends the run. `cause` is the first part of a sentence. */
  stop(cause: string): void {
    if (this.signal.aborted) return;
    const why = `${cause}: ${NEXT[this.#action]}`;
    this.#controller.abort(new Error(why));
    this.emit({ type: "stopping", why });
  }

  emit(event: FleetEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch (error) {
      this.thrown ??= { error };
      this.stop("the program that drives the fleet failed");
    }
  }
}

/** What became of the stacks. */
export type StacksRun = Pick<FleetReport, "outcome" | "stacks" | "skipped" | "failures" | "stoppedBy">;

/** Reports how much there is to do. */
export function announce({ action, stop }: Run, stacks: readonly PlacedStack[]): void {
  const workspaces = stacks.reduce((sum, stack) => sum + stack.workspaces.length, 0);
  stop.emit({ type: "run-started", action, stacks: stacks.length, workspaces });
}

/**
 * Runs one task for each stack, a bounded number at once. Ends early, and skips the rest, when the signal fires or the
 * failures are too many. Rejects only with what `onEvent` threw.
 */
export async function runStacks(run: Run, tasks: readonly StackTask[]): Promise<StacksRun> {
  const { stop, options } = run;
  const { stacksAtOnce, callsPerOrigin, stopAfterFailures } = limitsOf(options);
  const atOnce = Math.min(stacksAtOnce, tasks.length);
  const share = Math.max(1, Math.floor(callsPerOrigin / Math.max(1, atOnce)));
  const reports = new Map<string, StackReport>();
  const skipped: FleetReport["skipped"] = [];
  const failures: Failure[] = [];

  const noteFailure = (failure: Failure): void => {
    const { stack, workspace, message } = failure;
    const isKnown = (one: Failure): boolean =>
      one.stack === stack && one.workspace === workspace && one.message === message;
    // What came as an event comes again in the report.
    if (failures.some(isKnown)) return;
    failures.push(failure);
    stop.emit({ type: "failure", failure });
    if (failures.length >= stopAfterFailures) stop.stop(describeTooMany(stopAfterFailures));
  };
  const runTask = async (task: StackTask): Promise<void> => {
    const { name: stack, workspaces } = task.stack;
    if (stop.signal.aborted) {
      skipped.push({ stack, workspaces: workspaces.length, reason: "stopped" });
      return;
    }
    stop.emit({ type: "stack-started", stack, workspaces: workspaces.length });
    const onEvent = (event: StackEvent): void =>
      event.type === "failure" ? noteFailure(event.failure) : stop.emit({ ...event, stack });
    const exists = run.existing.has(stack);
    const report = await run.engine.run(task, exists, {
      signal: stop.signal,
      onEvent,
      callsPerOrigin: share,
      webhooks: run.webhooks,
    });
    reports.set(stack, report);
    report.failures.forEach(noteFailure);
    stop.emit({ type: "stack-ended", report });
  };
  // All take from one iterator, so that each task is taken once.
  const queue = tasks.values();
  const takeTasks = async (): Promise<void> => {
    for (const task of queue) await runTask(task);
  };
  await Promise.all(Array.from({ length: atOnce }, takeTasks));
  if (stop.thrown) throw stop.thrown.error;
  const stacks = tasks.flatMap(({ stack }) => reports.get(stack.name) ?? []);
  const outcome = outcomeOf(stacks, skipped);
  // A run that had nothing left when it was to stop was not stopped.
  const stoppedBy = outcome === "stopped" ? stop.why : undefined;
  return { outcome, stacks, skipped, failures, ...(stoppedBy === undefined ? {} : { stoppedBy }) };
}

/** Why a run stops after so many failures. */
export const describeTooMany = (failures: number): string =>
  `${failures === 1 ? "1 failure" : `${failures} failures`}, the most allowed (--stop-after-failures)`;

function outcomeOf(stacks: readonly StackReport[], skipped: FleetReport["skipped"]): Outcome {
  if (skipped.length > 0 || stacks.some(({ outcome }) => outcome === "stopped")) return "stopped";
  return stacks.some(({ outcome }) => outcome === "failed") ? "failed" : "done";
}

export const secondsSince = (startedAt: number): number => (Date.now() - startedAt) / 1000;

/** The report of a run over stacks. `failure`: of what comes after the stacks, such as the index stack. */
export function toReport({ fleet, action, startedAt }: Run, ran: StacksRun, failure?: Failure): FleetReport {
  const report = {
    ...ran,
    fleet: fleet.name,
    action,
    startedAt: new Date(startedAt).toISOString(),
    seconds: secondsSince(startedAt),
  };
  return addFailure(report, failure);
}

/** A run that was stopped says so, whatever failed besides. */
export const addFailure = (report: FleetReport, failure: Failure | undefined): FleetReport =>
  failure === undefined
    ? report
    : {
        ...report,
        outcome: report.outcome === "done" ? "failed" : report.outcome,
        failures: [...report.failures, failure],
      };

function wholeNumber(from: number, to?: number): z.ZodOptional<z.ZodNumber> {
  const range = to === undefined ? `${from}` : `${from} to ${to}`;
  // A string instead of a number is quoted, so that the mistake is visible.
  const error = ({ input }: { input?: unknown }): string =>
    `must be a whole number from ${range}, got ${JSON.stringify(input) ?? typeof input}`;
  return z
    .int({ error })
    .min(from, { error })
    .max(to ?? Number.MAX_SAFE_INTEGER, { error })
    .optional();
}

const flag = z.boolean().optional();

const base = {
  stacksAtOnce: wholeNumber(1, MAX_STACKS_AT_ONCE),
  callsPerOrigin: wholeNumber(1),
  stopAfterFailures: wholeNumber(1),
  shard: z
    .string()
    .refine((text) => parseShard(text) !== undefined, {
      error: ({ input }) => `must be a shard such as "2/4", got ${JSON.stringify(input)}`,
    })
    .optional(),
  signal: z.instanceof(AbortSignal, { error: "must be an AbortSignal" }).optional(),
  onEvent: z
    .custom<(event: FleetEvent) => void>((value) => typeof value === "function", {
      error: "must be a function",
    })
    .optional(),
};

const SHAPES = {
  plan: z.strictObject({ ...base, refresh: flag }),
  up: z.strictObject({ ...base, refresh: flag, onlyFailed: flag, maxRemovals: wholeNumber(0) }),
  refresh: z.strictObject(base),
  destroy: z.strictObject(base),
  rotate: z.strictObject({
    ...base,
    rotation: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
        error: 'must be a short name of letters, digits, ".", "_" and "-", such as "2026-12"',
      })
      .optional(),
    waveSize: wholeNumber(1),
  }),
  watch: z.strictObject({ ...base, command: z.string().optional() }),
} satisfies Record<FleetAction, z.ZodType>;

/** Throws `invalid_config` with everything that is wrong with the options of a run. */
export function requireRunOptions(action: FleetAction, options: object): void {
  const problems = problemsOf(SHAPES[action], options);
  if (problems.length > 0) throw invalidOptions(action, problems, "check");
}
