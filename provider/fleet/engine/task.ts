import type { ListedWorkspace } from "../../workspace-list/entry-shape.js";
import type { Failure, StackReport, WebhookReport } from "../reports.js";

/** What a worker does with one stack. It is sent to the worker as a message. */
export type StackTask = ProgramTask | DestroyTask;

interface StackPlace {
  /** The stack's name. */
  stack: string;
  project: string;
  /** URL of the module with the program. The engine finds the provider, and what else is installed, from its folder. */
  program: string;
  secretsProvider?: string;
}

/** Runs the fleet's program. */
export interface ProgramTask extends StackPlace {
  action: "preview" | "up";
  index: number;
  workspaces: readonly ListedWorkspace[];
  rotation?: string;
  /** Looks at the service first. */
  refresh?: boolean;
  /** For `preview`: a change is a drift. It is told in the report all the same. */
  expectNoChanges?: boolean;
}

/** Removes what the stack holds, and then the stack. `refresh` records what the service shows. Neither runs the program. */
export interface DestroyTask extends StackPlace {
  action: "refresh" | "destroy";
}

/** What happens while a task runs. */
export type StackEvent =
  | { type: "webhook"; webhook: WebhookReport }
  | { type: "failure"; failure: Failure }
  | {
      type: "note";
      line: string;
      /** The line without the name of its resource, where the provider has printed it. */
      text?: string;
    };

export interface TaskOptions {
  signal: AbortSignal;
  onEvent: (event: StackEvent) => void;
  /** Added to the environment of the engine and the provider. */
  environment?: Readonly<Record<string, string>>;
}

/** Runs tasks in processes of their own. One task of one stack at a time in each. */
export interface Workers {
  /**
   * Runs a task in a free worker. It does not reject: what goes wrong is in the report. When `signal` fires, the engine is asked
   * once to stop: it finishes and stores what is under way, and the outcome is `stopped`.
   */
  run(task: StackTask, options: TaskOptions): Promise<StackReport>;
  /** Writes the outputs of the index stack. */
  writeIndex(
    place: { stack: string; project: string; secretsProvider?: string },
    index: FleetIndex,
  ): Promise<void>;
  /** The outputs of the index stack; undefined if there is no such stack yet. */
  readIndex(place: { stack: string; project: string }): Promise<FleetIndex | undefined>;
  /** The names of the project's stacks in the backend. */
  listStacks(project: string): Promise<string[]>;
  /** Removes the index stack. */
  removeIndex(place: { stack: string; project: string }): Promise<void>;
  /** Ends the workers when they have finished and stored what is under way. With `kill` at once: locks may stay. */
  close(options?: { kill?: boolean }): Promise<void>;
}

/** What the index stack exports. */
export interface FleetIndex {
  /** By workspace. */
  botUrls: Record<string, string>;
  /** The stack of each workspace, by its name. */
  stackOf: Record<string, string>;
}
