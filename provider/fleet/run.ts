import * as z from "zod";
import { invalidOptions } from "../client/internal.js";
import { invalidConfig } from "../lib/files.js";
import { parse } from "../lib/validate.js";
import { wholeNumber, type ResolvedFleet } from "./definition.js";
import type { Engine, StackTask } from "./engine.js";
import {
  DEFAULT_LIMITS,
  MAX_STACKS_AT_ONCE,
  wrongOption,
  type FleetEvent,
  type RunOptions,
} from "./options.js";
import { countInName, type PlacedStack } from "./placement.js";
import type { FleetAction, FleetFailure, FleetReport, StackReport } from "./reports.js";
import { callWebhook, webhooksOf, type Webhooks } from "./webhooks.js";

/** What every run of an open fleet needs. */
export interface FleetContext {
  fleet: ResolvedFleet;
  /** All stacks, including those without workspaces. */
  stacks: readonly PlacedStack[];
  engine: Engine;
}

/** One run over the stacks of a fleet, or over one shard of them. */
export interface Run<Action extends FleetAction = FleetAction> extends FleetContext {
  action: Action;
  options: FilledOptions;
  /** The stacks of the project in the backend. */
  existing: ReadonlySet<string>;
  /** The arguments of the webhooks of its stacks; empty where the engine runs no program. */
  webhooks: Webhooks;
  /** Milliseconds since 1970. */
  startedAt: number;
  stop: RunStop;
}

/** Checks the options and what is in the backend. Throws `invalid_config`. */
export async function beginRun<Action extends FleetAction>(
  { fleet, stacks: all, engine }: FleetContext,
  action: Action,
  given: RunOptions,
): Promise<Run<Action>> {
  const { data: options, problems } = parse(optionsShape, given);
  if (problems) throw invalidOptions(action, problems, "check");
  for (const [name, actions] of Object.entries(OF_SOME_ACTIONS) as [OwnOption, readonly string[]][])
    if ((given as Record<string, unknown>)[name] !== undefined && !actions.includes(action))
      throw wrongOption(name, `is not an option of ${action}`);
  const [shard, shards] = numbersOf(options.shard);
  // By turns, so that shards differ by one stack at most.
  const stacks = all.filter(({ index }) => index % shards === shard - 1);
  const webhooks: Webhooks = ["refresh", "destroy"].includes(action) ? new Map() : callWebhook(fleet, stacks);
  const existing = new Set(await engine.listStacks());
  requireSameSplit(fleet.name, all.length, existing);
  const stop = new RunStop(given);
  return { fleet, engine, stacks, action, options, existing, webhooks, startedAt: Date.now(), stop };
}

/** Whether a run has all stacks. A run of some leaves the index stack alone: two such runs at once would both write it. */
export const coversFleet = (fleet: FleetContext, run: Run): boolean =>
  run.stacks.length === fleet.stacks.length;

/** Another split would move workspaces, and a workspace that moves loses its live webhook. */
function requireSameSplit(fleet: string, count: number, existing: ReadonlySet<string>): void {
  const others = [...existing].filter((name) => (countInName(fleet, name) ?? count) !== count).toSorted();
  const [first] = others;
  if (first === undefined) return;
  const more = others.length > 1 ? ` and ${others.length - 1} more` : "";
  throw invalidConfig([
    `stacks: ${count} is given, but the backend has ${first}${more}; a different number would move workspaces to other ` +
      "stacks, and delete their live webhooks on the way. Nothing was changed. " +
      `Give stacks: ${countInName(fleet, first)}, or first move the resources with pulumi state move and remove the old stacks`,
  ]);
}

/** Ends a run early: once, for the first reason. */
class RunStop {
  readonly #controller = new AbortController();
  readonly #onEvent: RunOptions["onEvent"];
  /** Fires when no more stacks may start and running ones must end. */
  readonly signal: AbortSignal = this.#controller.signal;
  /** Why the run ends; undefined until it ends. */
  why: string | undefined;
  /** What `onEvent` threw first. */
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

  /** Ends the run if `onEvent` throws: engines must not go on without it. */
  emit(event: FleetEvent): void {
    try {
      this.#onEvent?.(event);
    } catch (error) {
      this.thrown ??= { error };
      this.stop("the program that drives the fleet failed");
    }
  }
}

/** Reports how much there is to do. */
export function announce({ action, stop }: Run, stacks: readonly PlacedStack[]): void {
  const workspaces = stacks.reduce((sum, stack) => sum + stack.workspaces.length, 0);
  stop.emit({ type: "run-started", action, stacks: stacks.length, workspaces });
}

/**
 * Runs one task for each stack, a bounded number at once. Ends early and skips the rest when the signal fires or there are
 * too many failures. Rejects only with what `onEvent` threw.
 */
export async function runStacks<Action extends FleetAction>(
  run: Run<Action>,
  places: readonly PlacedStack[],
  task: Pick<StackTask, "action" | "rotation" | "refresh">,
): Promise<FleetReport<Action>> {
  const { stop, options, existing, webhooks } = run;
  const atOnce = Math.min(options.stacksAtOnce, places.length);
  const callsPerOrigin = Math.max(1, Math.floor(options.callsPerOrigin / Math.max(1, atOnce)));
  const reports = new Map<PlacedStack, StackReport>();
  const failures = new Set<FleetFailure>();

  const noteFailure = (failure: FleetFailure): void => {
    // Failures of events are in the report too.
    if (failures.has(failure)) return;
    failures.add(failure);
    stop.emit({ type: "failure", failure });
    stopAfter(run, failures.size);
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
      onEvent: (event) =>
        event.type === "failure" ? noteFailure(event.failure) : stop.emit({ ...event, stack }),
    });
    reports.set(place, report);
    report.failures.forEach(noteFailure);
    stop.emit({ type: "stack-ended", report });
  };
  // All take from one iterator, so that each stack is taken once.
  const queue = places.values();
  const takeStacks = async (): Promise<void> => {
    for (const place of queue) if (!stop.signal.aborted) await runTask(place);
  };
  await Promise.all(Array.from({ length: atOnce }, takeStacks));
  if (stop.thrown) throw stop.thrown.error;
  return toReport(run, {
    stacks: places.flatMap((place) => reports.get(place) ?? []),
    skipped: places.filter((place) => !reports.has(place)).map(skip),
    failures: [...failures],
  });
}

/** How a report lists a stack that did not run. */
export const skip = ({ name: stack, workspaces }: PlacedStack): FleetReport["skipped"][number] => ({
  stack,
  workspaces: workspaces.length,
});

/** Ends the run if it has the most failures that its options allow. */
export function stopAfter({ stop, options: { stopAfterFailures } }: Run, failures: number): void {
  if (failures < stopAfterFailures) return;
  stop.stop(`${stopAfterFailures === 1 ? "1 failure" : `${stopAfterFailures} failures`}, the most allowed`);
}

/** The report of a run, by what came of its stacks. */
export function toReport<Action extends FleetAction>(
  { fleet, action, startedAt, stop }: Run<Action>,
  ran: Pick<FleetReport, "stacks" | "skipped" | "failures">,
): FleetReport<Action> {
  const isStopped = ran.skipped.length > 0 || ran.stacks.some(({ outcome }) => outcome === "stopped");
  return {
    ...ran,
    fleet: fleet.name,
    action,
    outcome: isStopped ? "stopped" : ran.failures.length > 0 ? "failed" : "done",
    startedAt: new Date(startedAt).toISOString(),
    seconds: (Date.now() - startedAt) / 1000,
    // A run that had nothing left when it was to stop was not stopped.
    ...(isStopped && stop.why !== undefined && { stoppedBy: stop.why }),
  };
}

/** Adds a failure of what follows the stacks, such as the index stack. A run that was stopped stays `stopped`. */
export const addFailure = <Report extends FleetReport>(
  report: Report,
  failure: FleetFailure | undefined,
): Report =>
  failure === undefined
    ? report
    : {
        ...report,
        outcome: report.outcome === "done" ? "failed" : report.outcome,
        failures: [...report.failures, failure],
      };

const SHARD = /^[1-9]\d{0,2}\/[1-9]\d{0,2}$/;

/** The two numbers of a shard such as "2/4". */
const numbersOf = (shard = "1/1") => shard.split("/").map(Number) as [shard: number, shards: number];

/** The actions that have an option, where not all have it: one that is ignored could do more than its caller expects. */
const OF_SOME_ACTIONS = {
  refresh: ["plan", "up"],
  maxRemovals: ["up"],
  rotation: ["rotate"],
  waveSize: ["rotate"],
} satisfies Partial<Record<keyof FilledOptions, readonly FleetAction[]>>;

type OwnOption = keyof typeof OF_SOME_ACTIONS;

/** The options of a run, with their defaults. */
type FilledOptions = z.output<typeof optionsShape>;

/** The options of all runs. */
const optionsShape = z.strictObject({
  stacksAtOnce: wholeNumber(1, MAX_STACKS_AT_ONCE).default(DEFAULT_LIMITS.stacksAtOnce),
  callsPerOrigin: wholeNumber(1).default(DEFAULT_LIMITS.callsPerOrigin),
  stopAfterFailures: wholeNumber(1).default(DEFAULT_LIMITS.stopAfterFailures),
  shard: z
    .string()
    .refine((text) => SHARD.test(text) && numbersOf(text)[0] <= numbersOf(text)[1], {
      error: ({ input }) => `must be a shard such as "2/4", got ${JSON.stringify(input)}`,
    })
    .optional(),
  signal: z.instanceof(AbortSignal, { error: "must be an AbortSignal" }).optional(),
  onEvent: z.custom((value) => typeof value === "function", { error: "must be a function" }).optional(),
  refresh: z.boolean().default(false),
  maxRemovals: wholeNumber(0).optional(),
  rotation: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
      error: 'must be a short name of letters, digits, ".", "_" and "-", such as "2026-12"',
    })
    .optional(),
  waveSize: wholeNumber(1).optional(),
});
