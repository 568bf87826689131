/** The thread in which SQLite works: see {@link Spool}. It is found by its name next to the file that starts it. */
import { parentPort, workerData } from "node:worker_threads";
import { toSqliteError } from "../../lib/sqlite.js";
import { openSpoolDatabase } from "./database.js";
import { type Call, type HandedOut, type Outcome, SpoolKeeper } from "./keeper.js";

export interface SpoolWorkerOptions {
  path: string;
  /** How long after a write the traces of deleted rows leave the disk, in milliseconds. */
  tidyAfterMs: number;
}

/** What the thread is asked for. The last batch closes the file. */
export interface Batch {
  calls: readonly Call[];
  bytes: number;
  isLast: boolean;
}

/** What the thread says: how its start ended, what came of a batch, or what has become due. */
export interface Reply {
  start?: Outcome;
  outcomes?: Outcome[];
  handedOut?: HandedOut[];
}

const MAX_PAUSE_MS = 60 * 60 * 1000;

function serve(port: NonNullable<typeof parentPort>): void {
  const send = (reply: Reply): void => port.postMessage(reply);
  const { path, tidyAfterMs } = workerData as SpoolWorkerOptions;
  let keeper: SpoolKeeper;
  try {
    keeper = new SpoolKeeper(openSpoolDatabase(path, true), tidyAfterMs);
  } catch (cause) {
    const { code, message } = toSqliteError(cause);
    send({ start: { error: { code, message } } });
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(timer);
    const pauseMs = keeper.pauseMs();
    if (pauseMs === Infinity) return;
    timer = setTimeout(
      () => {
        send({ handedOut: keeper.handOut() });
        wait();
      },
      Math.min(pauseMs, MAX_PAUSE_MS),
    );
  };
  port.on("message", ({ calls, bytes, isLast }: Batch) => {
    send(keeper.run(calls, bytes));
    if (!isLast) return wait();
    clearTimeout(timer);
    keeper.close();
    port.close();
  });
  send({ start: {} });
}

if (parentPort) serve(parentPort);
