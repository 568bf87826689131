import { availableParallelism } from "node:os";

/** How much a run may do at once, and when it stops. */
export interface FleetLimits {
  /** How many stacks are under way at once, from 1 to 32. Default: one for each core, at least 2, at most 8. */
  stacksAtOnce?: number;
  /** How many calls to one origin of the service are under way at once, over all stacks. Default 8. */
  callsPerOrigin?: number;
  /** After so many answers with HTTP 429 the run stops. Each of them pauses every call to its origin. Default 100. */
  most429?: number;
  /**
   * After so many failures no further stack is begun, and those under way are ended: the engine finishes and stores what it
   * is at. Default 10.
   */
  stopAfterFailures?: number;
}

/** Each stack under way is a process with the SDK and an engine: more of them need too much memory on any machine. */
export const MOST_STACKS_AT_ONCE = 32;

export const DEFAULT_LIMITS: Required<FleetLimits> = {
  stacksAtOnce: Math.min(8, Math.max(2, availableParallelism())),
  callsPerOrigin: 8,
  most429: 100,
  stopAfterFailures: 10,
};

/** How many workspaces an `up` removes unless it is told more: a list that was cut short removes customers' webhooks. */
export const DEFAULT_MOST_REMOVALS = 10;
