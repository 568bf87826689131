import { ApiChatError } from "../../errors/index.js";
import type { StackReport } from "../reports.js";
import type { Job, JobResults } from "./messages.js";
import { collectEvents } from "./seen-events.js";
import type { Workers } from "./task.js";
import { startWorker, type JobOptions, type WorkerProcess } from "./worker-process.js";

export interface WorkersOptions {
  /** How many processes there are at most. One is started when it is needed, and kept for the next task. */
  size: number;
  /** Added to the environment of the programs, the engine and the providers. */
  environment?: Readonly<Record<string, string>>;
}

/** Starts processes that run the stacks of a fleet. Call `close` in the end. */
export function createWorkers({ size, environment = {} }: WorkersOptions): Workers {
  const idle: WorkerProcess[] = [];
  const all = new Set<WorkerProcess>();
  const waiting: (() => void)[] = [];
  let busy = 0;
  let isClosed = false;

  const take = async (): Promise<WorkerProcess> => {
    if (busy >= size) await new Promise<void>((resolve) => waiting.push(resolve));
    else busy += 1;
    const worker = idle.pop();
    if (worker?.isAlive()) return worker;
    if (isClosed) throw new Error("the workers are closed");
    const started = startWorker(environment);
    all.add(started);
    return started;
  };

  /** After a failure the next task gets a new process: what a program leaves behind when it fails reaches no other stack. */
  const giveBack = (worker: WorkerProcess | undefined, isSound: boolean): void => {
    if (worker && isSound && worker.isAlive() && !isClosed) idle.push(worker);
    else if (worker) void drop(worker);
    const next = waiting.shift();
    if (next) next();
    else busy -= 1;
  };

  const drop = async (worker: WorkerProcess): Promise<void> => {
    await worker.close();
    all.delete(worker);
  };

  const runJob = async <K extends Job["kind"]>(
    job: Extract<Job, { kind: K }>,
    options?: JobOptions,
  ): Promise<JobResults[K]> => {
    let worker: WorkerProcess | undefined;
    let isSound = false;
    try {
      worker = await take();
      const result = await worker.run<K>(job, options);
      isSound = job.kind !== "task" || (result as StackReport).outcome === "done";
      return result;
    } finally {
      giveBack(worker, isSound);
    }
  };

  const runIndexJob = async <K extends Exclude<Job["kind"], "task">>(
    job: Extract<Job, { kind: K }>,
  ): Promise<JobResults[K]> => {
    try {
      return await runJob<K>(job);
    } catch (error) {
      throw new ApiChatError("unavailable", messageOf(error), { operation: "check", cause: error });
    }
  };

  return {
    run: async (task, options) => {
      const started = performance.now();
      const seen = collectEvents(options.onEvent);
      try {
        return await runJob<"task">({ kind: "task", task }, { ...options, onEvent: seen.onEvent });
      } catch (error) {
        const outcome = options.signal.aborted || isClosed ? "stopped" : "failed";
        const seconds = (performance.now() - started) / 1000;
        return seen.toReport({ stack: task.stack, outcome, seconds }, messageOf(error));
      }
    },
    writeIndex: (place, index) => runIndexJob<"write-index">({ kind: "write-index", place, index }),
    readIndex: (place) => runIndexJob<"read-index">({ kind: "read-index", place }),
    listStacks: (project) => runIndexJob<"list-stacks">({ kind: "list-stacks", project }),
    removeIndex: (place) => runIndexJob<"remove-index">({ kind: "remove-index", place }),
    close: async ({ kill = false } = {}) => {
      isClosed = true;
      if (kill) for (const worker of all) worker.kill();
      await Promise.all([...all].map(drop));
    },
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
