import type { RowContext } from "../measurement.ts";
import type { ServiceReport } from "../service.ts";

/** How the workspaces are split. */
export type Split = "oneStack" | "oneStackWithoutCheckpoints" | "fleet";

/** What one `up` and one `refresh` of so many workspaces took, in a place of its own. */
export interface SplitRun {
  split: Split;
  workspaces: number;
  stacks: number;
  upSeconds: number;
  refreshSeconds: number;
  /** The most memory that the processes of one command held at one moment, without the service; undefined: not known here. */
  peakBytes: number | undefined;
  /** How often each action of the service was called by `up`, as the service counted it. */
  upCalls: Record<string, number>;
  refreshCalls: Record<string, number>;
  /** How many bot URLs the index of the fleet gave; undefined for one stack. */
  indexedBotUrls: number | undefined;
}

export interface RunGiven extends Pick<RowContext, "signal" | "update"> {
  workspaces: number;
}

/** The calls of the registration interface: those of the endpoint are the handshakes. */
export function readCalls({ calls }: ServiceReport): Record<string, number> {
  return Object.fromEntries(Object.entries(calls).filter(([action]) => action !== "endpoint"));
}

/** A run counts only if everything stands at the service. */
export function requireRegistered(
  { registered }: ServiceReport,
  { workspaces }: { workspaces: number },
): void {
  if (registered === workspaces) return;
  throw new Error(`${registered} webhooks stand at the service, and should be ${workspaces}`);
}

/** The larger of two peaks; undefined if one is not known. */
export function largerPeak(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || second === undefined ? undefined : Math.max(first, second);
}
