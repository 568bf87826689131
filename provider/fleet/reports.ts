import type { Failure } from "../errors/index.js";
import type { DriftedProperty } from "../webhook/state.js";

/** A command over the stacks of a fleet. */
export type FleetAction = "plan" | "up" | "refresh" | "destroy" | "rotate" | "watch";

/** How a stack, or a whole run, ended. `stopped`: by Ctrl-C, by a limit, or because an earlier one failed. */
export type Outcome = "done" | "failed" | "stopped";

/** What the engine does, did or would do with one webhook. */
export type WebhookChange = (typeof WEBHOOK_CHANGES)[number];

export const WEBHOOK_CHANGES = ["create", "update", "delete", "same"] as const;

/** One webhook of a stack, as the engine reports it. Contains no secrets. */
export interface WebhookReport {
  /** The name of the resource, which is the name of the workspace. */
  workspace: string;
  change: WebhookChange;
  /** Unknown before the first `up`. */
  botUrl?: string;
  /** What a refresh found to differ; absent if nothing does. */
  drift?: Drift;
}

/** How the service differs from the state. `gone`: nothing is registered. `taken-over`: a different URL and key. */
export interface Drift {
  kind: "changed" | "gone" | "taken-over";
  properties: DriftedProperty[];
}

export type { DriftedProperty } from "../webhook/state.js";

/** Why something failed. Contains no secrets. */
export interface FleetFailure {
  /** The workspace, unless the whole stack failed. */
  workspace?: string;
  stack: string;
  /** The first line says everything. */
  message: string;
  /** The failure as data, if it is this package's. */
  error?: Failure;
}

/** A resource that is not a webhook, such as a `VerificationKey`, and what the engine does or would do with it. */
export interface OtherChange {
  name: string;
  /** As in its URN. */
  type: string;
  change: Exclude<WebhookChange, "same">;
}

/** What one engine command did with one stack. */
export interface StackReport {
  stack: string;
  outcome: Outcome;
  seconds: number;
  webhooks: WebhookReport[];
  failures: FleetFailure[];
  /** Other resources that change. */
  others: OtherChange[];
  /** Lines that the provider printed for people, such as warnings. */
  notes: string[];
}

/** A whole run over the stacks of a fleet. `action` tells the reports of the commands apart. */
export interface FleetReport<Action extends FleetAction = "up" | "refresh" | "destroy"> {
  fleet: string;
  action: Action;
  outcome: Outcome;
  /** ISO 8601, UTC. */
  startedAt: string;
  seconds: number;
  stacks: StackReport[];
  /** Stacks that were not run, and why: `already-done` if the last run finished them, `stopped` if this run ended first. */
  skipped: { stack: string; workspaces: number; reason: "already-done" | "stopped" }[];
  failures: FleetFailure[];
  /** Why the run stopped early; absent if it did not. */
  stoppedBy?: string;
}
