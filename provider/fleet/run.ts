import * as z from "zod";
import { invalidOptions } from "../client/options.js";
import { invalidConfig } from "../lib/files.js";
import { parse } from "../lib/validate.js";
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
  /** All stacks, including those without workspaces. */
  stacks: readonly PlacedStack[];
  engine: Engine;
}

/** One run over the stacks of a fleet, or over one shard of them. */
export interface Run extends FleetContext {
  action: FleetAction;
  limits: Required<Omit<FleetLimits, "shard">>;
  /** The stacks of the project in the backend. */
  existing: ReadonlySet<string>;
  /** The arguments of the webhooks of its stacks; empty where the engine runs no program. */
  webhooks: Webhooks;
  /** Milliseconds since 1970. */
  startedAt: number;
  stop: RunStop;
  /** Called with the name of each stack that is done. */
  onDone?: (stack: string) => void;
}

/** Checks the options and what is in the backend. Throws `invalid_config`. */
export async function beginRun(
  { fleet, stacks: all, engine }: FleetContext,
  action: FleetAction,
  options: RunOptions,
): Promise<Run> {
  const limits = checkOptions(action, options);
  const shard = parseShard(options.shard ?? "1/1");
  // By turns, so that shards differ by one stack at most.
  const stacks = all.filter(({ index }) => shard === undefined || index % shard.shards === shard.shard - 1);
  const webhooks: Webhooks = ["refresh", "destroy"].includes(action) ? new Map() : callWebhook(fleet, stacks);
  const existing = new Set(await engine.listStacks());
  requireSameSplit(fleet.name, all.length, existing);
  const stop = new RunStop(options);
  return { fleet, engine, stacks, action, limits, existing, webhooks, startedAt: Date.now(), stop };
}

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

  emit(event: FleetEvent): void {
    try {
      this.#onEvent?.(event);
    } catch (error) {
      this.thrown ??= { error };
      this.stop("the program that drives the fleet failed");
    }
  }
}

/** The result of a run over stacks. */
export type StacksRun = Pick<FleetReport, "outcome" | "stacks" | "skipped" | "failures" | "stoppedBy">;

/** Reports how much there is to do. */
export function announce({ action, stop }: Run, stacks: readonly PlacedStack[]): void {
  const workspaces = stacks.reduce((sum, stack) => sum + stack.workspaces.length, 0);
  stop.emit({ type: "run-started", action, stacks: stacks.length, workspaces });
}

/**
 * Runs one task for each stack, a bounded number at once. Ends early and skips the rest when the signal fires or there are
 * too many failures. Rejects only with what `onEvent` threw.
 */
export async function runStacks(
  run: Run,
  places: readonly PlacedStack[],
  task: Omit<StackTask, "stack">,
): Promise<StacksRun> {
  const { stop, limits, existing, webhooks } = run;
  const atOnce = Math.min(limits.stacksAtOnce, places.length);
  const callsPerOrigin = Math.max(1, Math.floor(limits.callsPerOrigin / Math.max(1, atOnce)));
  const reports = new Map<PlacedStack, StackReport>();
  const failures = new Set<Failure>();

  const noteFailure = (failure: Failure): void => {
    // Failures of events are in the report too.
    if (failures.has(failure)) return;
    failures.add(failure);
    stop.emit({ type: "failure", failure });
    stopAfter(run, failures.size);
  };
  const runTask = async (place: PlacedStack): Promise<void> => {
    const { name: stack, workspaces } = place;
    stop.emit({ type: "stack-started", stack, workspaces: workspaces.length });
    const onEvent = (event: StackEvent): void =>
      event.type === "failure" ? noteFailure(event.failure) : stop.emit({ ...event, stack });
    const options = { signal: stop.signal, onEvent, callsPerOrigin, webhooks, exists: existing.has(stack) };
    const report = await run.engine.run({ ...task, stack: place }, options);
    reports.set(place, report);
    report.failures.forEach(noteFailure);
    if (report.outcome === "done") run.onDone?.(stack);
    stop.emit({ type: "stack-ended", report });
  };
  // All take from one iterator, so that each stack is taken once.
  const queue = places.values();
  const takeStacks = async (): Promise<void> => {
    for (const place of queue) if (!stop.signal.aborted) await runTask(place);
  };
  await Promise.all(Array.from({ length: atOnce }, takeStacks));
  if (stop.thrown) throw stop.thrown.error;
  const stacks = places.flatMap((place) => reports.get(place) ?? []);
  const skipped = places.filter((place) => !reports.has(place)).map((place) => skip(place, "stopped"));
  const outcome = outcomeOf(stacks, skipped);
  // A run that had nothing left when it was to stop was not stopped.
  const stoppedBy = outcome === "stopped" ? stop.why : undefined;
  return { outcome, stacks, skipped, failures: [...failures], ...(stoppedBy && { stoppedBy }) };
}

/** How a report lists a stack that did not run. */
export const skip = (
  { name: stack, workspaces }: PlacedStack,
  reason: FleetReport["skipped"][number]["reason"],
): FleetReport["skipped"][number] => ({ stack, workspaces: workspaces.length, reason });

/** Ends the run if it has the most failures that its options allow. */
export function stopAfter({ stop, limits: { stopAfterFailures } }: Run, failures: number): void {
  if (failures < stopAfterFailures) return;
  const count = stopAfterFailures === 1 ? "1 failure" : `${stopAfterFailures} failures`;
  stop.stop(`${count}, the most allowed (--stop-after-failures)`);
}

function outcomeOf(stacks: readonly StackReport[], skipped: FleetReport["skipped"]): Outcome {
  if (skipped.length > 0 || stacks.some(({ outcome }) => outcome === "stopped")) return "stopped";
  return stacks.some(({ outcome }) => outcome === "failed") ? "failed" : "done";
}

/** The report of a run over stacks. `failure`: of what follows the stacks, such as the index stack. */
export function toReport({ fleet, action, startedAt }: Run, ran: StacksRun, failure?: Failure): FleetReport {
  const seconds = (Date.now() - startedAt) / 1000;
  const report = { ...ran, fleet: fleet.name, action, startedAt: new Date(startedAt).toISOString(), seconds };
  return addFailure(report, failure);
}

/** A run that was stopped stays `stopped`, whatever else failed. */
export const addFailure = (report: FleetReport, failure: Failure | undefined): FleetReport =>
  failure === undefined
    ? report
    : {
        ...report,
        outcome: report.outcome === "done" ? "failed" : report.outcome,
        failures: [...report.failures, failure],
      };

function wholeNumber(from: number, to = Number.MAX_SAFE_INTEGER) {
  const range = to === Number.MAX_SAFE_INTEGER ? `${from}` : `${from} to ${to}`;
  // A string instead of a number is quoted, so that the mistake is visible.
  const error = ({ input }: { input?: unknown }): string =>
    `must be a whole number from ${range}, got ${JSON.stringify(input) ?? typeof input}`;
  return z.int({ error }).min(from, { error }).max(to, { error });
}

const flag = z.boolean().optional();

const base = z.strictObject({
  stacksAtOnce: wholeNumber(1, MAX_STACKS_AT_ONCE).default(DEFAULT_LIMITS.stacksAtOnce),
  callsPerOrigin: wholeNumber(1).default(DEFAULT_LIMITS.callsPerOrigin),
  stopAfterFailures: wholeNumber(1).default(DEFAULT_LIMITS.stopAfterFailures),
  shard: z
    .string()
    .refine((text) => parseShard(text) !== undefined, {
      error: ({ input }) => `must be a shard such as "2/4", got ${JSON.stringify(input)}`,
    })
    .optional(),
  signal: z.instanceof(AbortSignal, { error: "must be an AbortSignal" }).optional(),
  onEvent: z.custom((value) => typeof value === "function", { error: "must be a function" }).optional(),
});

const SHAPES = {
  plan: base.extend({ refresh: flag }),
  up: base.extend({ refresh: flag, onlyFailed: flag, maxRemovals: wholeNumber(0).optional() }),
  refresh: base,
  destroy: base,
  rotate: base.extend({
    rotation: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
        error: 'must be a short name of letters, digits, ".", "_" and "-", such as "2026-12"',
      })
      .optional(),
    waveSize: wholeNumber(1).optional(),
  }),
  watch: base.extend({ command: z.string().optional() }),
} satisfies Record<FleetAction, z.ZodType>;

/** Returns the limits, with their defaults. Throws `invalid_config` with everything that is wrong with the options of a run. */
function checkOptions(action: FleetAction, options: object): Run["limits"] {
  const { data, problems } = parse<z.output<typeof base>>(SHAPES[action], options);
  if (problems) throw invalidOptions(action, problems, "check");
  return data;
}
