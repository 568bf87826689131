import { availableParallelism } from "node:os";
import { ApiChatError } from "../errors/index.js";
import type { FleetAction, FleetFailure, Outcome, StackReport, WebhookReport } from "./reports.js";

/** The options of every run: how much is in progress at once, and when it stops. */
export interface RunOptions {
  /** How many stacks run at once, from 1 to 32. Default: one for each core, at least 2, at most 8. */
  stacksAtOnce?: number;
  /** How many calls to one origin of the service are in progress at once, divided among the stacks. Default 32. */
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

export interface PlanOptions extends RunOptions {
  /** Queries the service first, so that the plan shows drift. */
  refresh?: boolean;
}

export interface UpOptions extends RunOptions {
  /** Queries the service first, so that drift is repaired. */
  refresh?: boolean;
  /** Runs only the stacks that the last `up` on this machine did not finish. */
  onlyFailed?: boolean;
  /** How many workspaces that left the list may be removed. Default 10. */
  maxRemovals?: number;
}

export interface RotateOptions extends RunOptions {
  /** The name of the rotation. Default: the first of the definition's `rotations`, or today, such as "2026-11-21" (UTC). */
  rotation?: string;
  /** How many stacks are in each wave after the first, which is one stack alone. Default: `stacksAtOnce`. */
  waveSize?: number;
}

/** What happens during a run. Contains no secrets. */
export type FleetEvent =
  | { type: "run-started"; action: FleetAction; stacks: number; workspaces: number }
  | { type: "stack-started"; stack: string; workspaces: number }
  | { type: "stack-ended"; report: StackReport }
  | { type: "webhook"; stack: string; webhook: WebhookReport }
  | { type: "failure"; failure: FleetFailure }
  | {
      type: "note";
      stack: string;
      line: string;
      /** The line without the name of its resource, if the provider printed it. */
      text?: string;
    }
  | { type: "wave-started"; wave: number; waves: number; stacks: string[] }
  | { type: "wave-ended"; wave: number; waves: number; outcome: Outcome }
  | { type: "stopping"; why: string };

// The command line loads this file for its help: no zod here.

/** The failure of an option that does not fit what was found. The command line names the option in its own way. */
export const wrongOption = (field: keyof UpOptions | keyof RotateOptions, text: string): ApiChatError =>
  new ApiChatError("invalid_config", "", { operation: "check", problems: [{ field, text }] });

/** Each running stack is an engine with its provider: more need too much memory on any machine. */
export const MAX_STACKS_AT_ONCE = 32;

export const DEFAULT_LIMITS = {
  stacksAtOnce: Math.min(8, Math.max(2, availableParallelism())),
  callsPerOrigin: 32,
  stopAfterFailures: 10,
};

/** How many workspaces an `up` may remove: a list that was cut short would remove customers' webhooks. */
export const DEFAULT_MAX_REMOVALS = 10;
