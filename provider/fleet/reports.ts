import type { Failure } from "../errors/index.js";
import type { DriftedProperty } from "../webhook/provider.js";

/** A command that runs on the stacks of a fleet. */
export type FleetAction = "plan" | "up" | "refresh" | "destroy" | "rotate" | "watch";

/** How a stack, or a whole run, ended. `stopped`: by Ctrl-C, by a limit, or because an earlier wave failed. */
export type Outcome = "done" | "failed" | "stopped";

/** What the engine does, did or would do with one webhook. */
export type WebhookChange = "create" | "update" | "delete" | "same";

/** One webhook of a stack, as the engine reports it. Contains no secrets. */
export interface WebhookReport {
  /** The name of the resource, which is the name of the workspace. */
  workspace: string;
  /** The engine's change to the webhook. */
  change: WebhookChange;
  /** Its bot URL; absent until the webhook is registered. */
  botUrl?: string;
  /** What a refresh found to differ; absent if nothing differs. */
  drift?: Drift;
}

/** How the service differs from the state. `gone`: nothing is registered. `taken-over`: a different URL and key. */
export interface Drift {
  /** How they differ. */
  kind: "changed" | "gone" | "taken-over";
  /** What differs, without secrets. */
  properties: DriftedProperty[];
}

export type { DriftedProperty } from "../webhook/provider.js";

/** Why something failed. Contains no secrets. */
export interface FleetFailure {
  /** The workspace, unless the whole stack failed. */
  workspace?: string;
  /** The stack in which it failed. */
  stack: string;
  /** The error message; its first line is a complete summary. */
  message: string;
  /** The failure as data, if this package reported it. */
  error?: Failure;
}

/** What one engine command did with one stack. */
export interface StackReport {
  /** The stack's name. */
  stack: string;
  /** How the command ended in this stack. */
  outcome: Outcome;
  /** How long it took, in seconds. */
  seconds: number;
  /** Its webhooks, changed or not. */
  webhooks: WebhookReport[];
  /** What failed; empty if nothing did. */
  failures: FleetFailure[];
  /** The workspaces whose key changes. */
  keys: Pick<WebhookReport, "workspace" | "change">[];
}

/** A whole run over the stacks of a fleet. Discriminated by `action`. */
export interface FleetReport<Action extends FleetAction = "up" | "refresh" | "destroy"> {
  /** The name of the fleet. */
  fleet: string;
  /** The command that ran. */
  action: Action;
  /** The shard that ran, such as "2/4"; absent if all stacks were to run. */
  shard?: string;
  /** `done` only if all stacks are done and nothing failed. */
  outcome: Outcome;
  /** When the run started, in ISO 8601 (UTC). */
  startedAt: string;
  /** How long it took, in seconds. */
  seconds: number;
  /** What happened in each stack that ran. */
  stacks: StackReport[];
  /** Stacks that were not run, because the run ended first. */
  skipped: {
    /** The stack's name. */
    stack: string;
    /** How many workspaces it has. */
    workspaces: number;
  }[];
  /** What failed in the whole run; empty if nothing did. */
  failures: FleetFailure[];
  /** Why the run stopped early; absent if it did not. */
  stoppedBy?: string;
}
