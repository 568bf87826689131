import { availableParallelism } from "node:os";
import * as z from "zod";
import { wholeNumberShape } from "./definition.js";
import type { FleetAction, FleetFailure, StackReport, WebhookReport } from "./reports.js";

/** The options of every run: which stacks it includes, how many run at once, and when it stops. */
export interface RunOptions {
  /** How many stacks run at once, from 1 to 32. Default: one for each core, at least 2, at most 8. */
  stacksAtOnce?: number;
  /** How many calls to one origin of the service may run at once, divided among the stacks. Default 32. */
  callsPerOrigin?: number;
  /** After this many failures, no more stacks are started, and running ones finish their current steps. Default 10. */
  stopAfterFailures?: number;
  /** Runs one shard of the stacks, such as "2/4", so that several machines can split a fleet. Default: all. */
  shard?: string;
  /** Ends the run: no more stacks start, and the engine finishes and stores its current steps. */
  signal?: AbortSignal;
  /** Called for every event. If it throws, the run stops and rejects with that error. */
  onEvent?: (event: FleetEvent) => void;
}

/** The options of `plan` and `up`. */
export interface UpOptions extends RunOptions {
  /** Queries the service first, so that `plan` shows drift and `up` repairs it. */
  refresh?: boolean;
  /** The maximum number of workspaces to remove because they are no longer in the list. Default 10. */
  maxRemovals?: number;
}

/** The options of `rotate`. */
export interface RotateOptions extends RunOptions {
  /** The rotation's name. Default: the first of `rotations`, else an unfinished rotation's name, else today (UTC). */
  rotation?: string;
  /** How many stacks each wave contains, except the first, which contains one. Default: `stacksAtOnce`. */
  waveSize?: number;
}

/** What happens during a run. Contains no secrets. */
export type FleetEvent =
  | {
      /** The type of the event; each type has its own fields. */
      type: "run-started";
      /** The command. */
      action: FleetAction;
      /** How many stacks the run includes. */
      stacks: number;
      /** How many workspaces these stacks have. */
      workspaces: number;
    }
  | {
      type: "stack-started";
      /** The stack's name. */
      stack: string;
      workspaces: number;
    }
  | {
      type: "stack-ended";
      /** What happened in the stack. */
      report: StackReport;
    }
  | {
      type: "webhook";
      stack: string;
      /** What happened to one webhook. */
      webhook: WebhookReport;
    }
  | {
      type: "failure";
      /** What failed. */
      failure: FleetFailure;
    }
  | {
      type: "note";
      stack: string;
      /** A line that the provider or the engine printed. */
      line: string;
      /** The workspace, if the provider printed the line. */
      workspace?: string;
    }
  | {
      type: "stopping";
      /** Why no more stacks are started. */
      why: string;
    };

const SHARD = /^[1-9]\d{0,2}\/[1-9]\d{0,2}$/;

export const numbersOf = (shard: string) => shard.split("/").map(Number) as [shard: number, shards: number];

/** The default. At most 32 are accepted: each running stack takes the memory of an engine and a provider. */
const STACKS_AT_ONCE = Math.min(8, Math.max(2, availableParallelism()));

export const optionsShape = z.strictObject({
  stacksAtOnce: wholeNumberShape(1, 32).default(STACKS_AT_ONCE),
  callsPerOrigin: wholeNumberShape(1).default(32),
  stopAfterFailures: wholeNumberShape(1).default(10),
  shard: z
    .string()
    .refine((text) => SHARD.test(text) && numbersOf(text)[0] <= numbersOf(text)[1], {
      error: ({ input }) => `must be a shard such as "2/4", got ${JSON.stringify(input)}`,
    })
    .default("1/1"),
  signal: z.instanceof(AbortSignal, { error: "must be an AbortSignal" }).optional(),
  onEvent: z.custom((value) => typeof value === "function", { error: "must be a function" }).optional(),
  refresh: z.boolean().default(false),
  maxRemovals: wholeNumberShape(0).default(10),
  rotation: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
      error: 'must be a short name of letters, digits, ".", "_" and "-", such as "2026-12"',
    })
    .optional(),
  waveSize: wholeNumberShape(1).optional(),
});

const runShape = optionsShape.omit({ refresh: true, maxRemovals: true, rotation: true, waveSize: true });
const upShape = optionsShape.omit({ rotation: true, waveSize: true });

/** The options that each action accepts. Others are rejected: ignoring them could do more than the caller expects. */
export const OPTIONS_OF: Record<FleetAction, z.ZodType> = {
  plan: upShape,
  up: upShape,
  refresh: runShape,
  destroy: runShape,
  rotate: optionsShape.omit({ refresh: true, maxRemovals: true }),
  watch: runShape,
};

export type FilledOptions = z.output<typeof optionsShape>;
