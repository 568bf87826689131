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

/** The options of `plan`. */
export interface PlanOptions extends RunOptions {
  /** Queries the service first, so that the plan shows drift. */
  refresh?: boolean;
}

/** The options of `up`. */
export interface UpOptions extends RunOptions {
  /** Queries the service first, so that drift is repaired. */
  refresh?: boolean;
  /** Runs only the stacks that the last `up` on this machine did not finish. */
  onlyFailed?: boolean;
  /** How many workspaces that left the list may be removed. Default 10. */
  maxRemovals?: number;
}

/** The options of `rotate`. */
export interface RotateOptions extends RunOptions {
  /**
   * The name of the rotation. Default: the first of the definition's `rotations`, an unfinished one, or today, such as
   * "2026-11-21" (UTC).
   */
  rotation?: string;
  /** How many stacks are in each wave after the first, which is one stack alone. Default: `stacksAtOnce`. */
  waveSize?: number;
}

/** What happens during a run. Contains no secrets. */
export type FleetEvent =
  | {
      /** What happened: each type has fields of its own. */
      type: "run-started";
      /** The command. */
      action: FleetAction;
      /** How many stacks it runs on; of a wave, their names. */
      stacks: number;
      /** How many workspaces these have. */
      workspaces: number;
    }
  | { type: "stack-started"; stack: string; workspaces: number }
  | {
      type: "stack-ended";
      /** What happened in the stack. */
      report: StackReport;
    }
  | {
      type: "webhook";
      /** The stack's name. */
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
      /** The line without the name of its resource, if the provider printed it. */
      text?: string;
    }
  | {
      type: "wave-started";
      /** The number of the wave, from 1. */
      wave: number;
      /** How many waves there are. */
      waves: number;
      stacks: string[];
    }
  | {
      type: "wave-ended";
      wave: number;
      waves: number;
      /** How the wave ended. */
      outcome: Outcome;
    }
  | {
      type: "stopping";
      /** Why no more stacks are started. */
      why: string;
    };

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
