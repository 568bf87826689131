/** The thread in which SQLite runs. spool.ts loads this file by name: keep both in one folder. */
import { parentPort, workerData } from "node:worker_threads";
import { openSpoolDatabase } from "./database.js";
import { type Call, type Failure, type Outcome, SpoolKeeper, toFailure } from "./keeper.js";
import type { AttemptLimits } from "./lanes.js";
import type { DueDelivery } from "./queue.js";

export interface SpoolWorkerOptions {
  path: string;
  limits: AttemptLimits;
  /** How long after a write to erase the traces of deleted rows from the disk, in milliseconds. */
  tidyAfterMs: number;
}

export interface Batch {
  calls: readonly Call[];
  /** How many bytes the calls add. */
  bytes: number;
  /** Whether no batch follows. */
  isLast: boolean;
}

export interface Reply {
  outcomes: Outcome[];
  due: DueDelivery[];
  /** Why some due deliveries could not be read. */
  failure?: Failure | undefined;
}

/** The longest pause that a timer is set for. Node would allow 24 days at most. */
const MAX_PAUSE_MS = 60 * 60 * 1000;

function serve(port: NonNullable<typeof parentPort>): void {
  const send = (reply: Reply): void => port.postMessage(reply);
  let keeper: SpoolKeeper;
  try {
    const { path, limits, tidyAfterMs } = workerData as SpoolWorkerOptions;
    keeper = new SpoolKeeper(openSpoolDatabase(path, true), limits, tidyAfterMs);
  } catch (error) {
    send({ outcomes: [{ error: toFailure(error) }], due: [] });
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  const replyWithDue = (outcomes: Outcome[]): void => {
    let failure: Failure | undefined;
    const due = keeper.queue.take((error) => (failure = toFailure(error)));
    send({ outcomes, due, failure });
    clearTimeout(timer);
    const pauseMs = keeper.queue.pauseMs();
    if (pauseMs < Infinity) timer = setTimeout(replyWithDue, Math.min(pauseMs, MAX_PAUSE_MS), []);
  };
  port.on("message", ({ calls, bytes, isLast }: Batch) => {
    replyWithDue(keeper.run(calls, bytes));
    if (!isLast) return;
    clearTimeout(timer);
    keeper.close();
    port.close();
  });
  replyWithDue([{}]);
}

if (parentPort) serve(parentPort);
