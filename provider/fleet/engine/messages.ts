import type { StackReport } from "../reports.js";
import type { FleetIndex, StackEvent, StackTask } from "./task.js";

export interface IndexPlace {
  stack: string;
  project: string;
  secretsProvider?: string;
}

/** What a worker is asked to do, one at a time. */
export type Job =
  | { kind: "task"; task: StackTask }
  | { kind: "write-index"; place: IndexPlace; index: FleetIndex }
  | { kind: "read-index"; place: IndexPlace }
  | { kind: "list-stacks"; project: string }
  | { kind: "remove-index"; place: IndexPlace };

/** What each kind of job gives. */
export interface JobResults {
  task: StackReport;
  "write-index": void;
  "read-index": FleetIndex | undefined;
  "list-stacks": string[];
  "remove-index": void;
}

export type ToWorker =
  { type: "job"; job: Job; environment: Readonly<Record<string, string>> } | { type: "stop" };

export type FromWorker =
  | { type: "event"; event: StackEvent }
  | { type: "done"; result: JobResults[Job["kind"]] }
  | { type: "failed"; message: string };
