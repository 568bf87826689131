import * as z from "zod";
import { invalidConfig } from "../client/options.js";
import { inOurWords, problemsOfIssues } from "../lib/validate.js";
import { DEFAULT_LIMITS, MOST_STACKS_AT_ONCE, type FleetLimits } from "./limits.js";
import type { Failure, FleetAction, Outcome, StackReport, WebhookReport } from "./reports.js";

/** What every run takes. */
export interface RunOptions extends FleetLimits {
  /** Ends the run: no further stack is begun, and the engine finishes and stores what it is at. */
  signal?: AbortSignal;
  /** Told of everything as it happens. What it throws ends the run and rejects it. */
  onEvent?: (event: FleetEvent) => void;
}

export interface PlanOptions extends RunOptions {
  /** Looks at the service first, so that the plan shows drift too. */
  refresh?: boolean;
}

export interface UpOptions extends RunOptions {
  /** Looks at the service first, so that drift is repaired too. */
  refresh?: boolean;
  /** Leaves out what an earlier `up` that did not end has done already. Without such a run it does everything. */
  resume?: boolean;
  /** How many workspaces that left the list may be removed. Default 10. */
  mostRemovals?: number;
}

export interface RotateOptions extends RunOptions {
  /** The name of the rotation. Default: today, such as "2026-11-21" (UTC); with `resume`, that of the run that is resumed. */
  rotation?: string;
  /** How many stacks are in each wave after the first, which is one stack alone. Default: `stacksAtOnce`. */
  waveSize?: number;
  resume?: boolean;
}

/** What happens during a run. No secret is in it. */
export type FleetEvent =
  | { type: "run-started"; action: FleetAction; stacks: number; workspaces: number }
  | { type: "stack-started"; stack: string; workspaces: number }
  | { type: "stack-ended"; report: StackReport }
  | { type: "webhook"; stack: string; webhook: WebhookReport }
  | { type: "failure"; failure: Failure }
  | {
      type: "note";
      stack: string;
      line: string;
      /** The line without the name of its resource, where the provider has printed it. */
      text?: string;
    }
  | { type: "wave-started"; wave: number; waves: number; stacks: string[] }
  | { type: "wave-ended"; wave: number; waves: number; outcome: Outcome }
  | { type: "stopping"; why: string };

function wholeNumber(from: number, to?: number): z.ZodOptional<z.ZodNumber> {
  const accepted = to === undefined ? `a whole number from ${from}` : `a whole number from ${from} to ${to}`;
  const error = ({ input }: { input?: unknown }): string => `must be ${accepted}, got ${say(input)}`;
  const number = z.int({ error }).min(from, { error });
  return (to === undefined ? number : number.max(to, { error })).optional();
}

/** A text that stands where a number belongs is quoted, so that the slip shows. */
const say = (input: unknown): string =>
  typeof input === "number" || typeof input === "string" ? JSON.stringify(input) : typeof input;

const flag = z.boolean().optional();

const base = {
  stacksAtOnce: wholeNumber(1, MOST_STACKS_AT_ONCE),
  callsPerOrigin: wholeNumber(1),
  most429: wholeNumber(1),
  stopAfterFailures: wholeNumber(1),
  signal: z.instanceof(AbortSignal, { error: "must be an AbortSignal" }).optional(),
  onEvent: z
    .custom<(event: FleetEvent) => void>((value) => typeof value === "function", {
      error: "must be a function",
    })
    .optional(),
};

const SHAPES = {
  plan: z.strictObject({ ...base, refresh: flag }),
  up: z.strictObject({ ...base, refresh: flag, resume: flag, mostRemovals: wholeNumber(0) }),
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
    resume: flag,
  }),
  watch: z.strictObject(base),
} satisfies Record<FleetAction, z.ZodType>;

/** Throws `invalid_config` with everything that is wrong with the options of a run. */
export function requireRunOptions(action: FleetAction, options: object): void {
  const parsed = SHAPES[action].safeParse(options, { error: inOurWords });
  if (!parsed.success) throw invalidConfig(action, problemsOfIssues(parsed.error.issues), "check");
}

/** The limits of a run, with the defaults. */
export function limitsOf(options: FleetLimits): Required<FleetLimits> {
  return {
    stacksAtOnce: options.stacksAtOnce ?? DEFAULT_LIMITS.stacksAtOnce,
    callsPerOrigin: options.callsPerOrigin ?? DEFAULT_LIMITS.callsPerOrigin,
    most429: options.most429 ?? DEFAULT_LIMITS.most429,
    stopAfterFailures: options.stopAfterFailures ?? DEFAULT_LIMITS.stopAfterFailures,
  };
}
