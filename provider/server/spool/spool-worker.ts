/** The thread in which SQLite works: see {@link Spool}. It is found by its name next to the file that starts it. */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { toSqliteError } from "../../lib/sqlite.js";
import { openSpoolDatabase } from "./database.js";
import { type Call, type HandedOut, type Outcome, SpoolKeeper } from "./keeper.js";

export interface SpoolWorkerOptions {
  path: string;
  /** How long after a write the traces of deleted rows leave the disk, in milliseconds. */
  tidyAfterMs: number;
}

/** What the thread is asked for: calls, of which those that add write this many bytes. */
export interface Request {
  calls: Call[];
  bytes: number;
  /** Nothing follows. */
  isLast: boolean;
}

/** What the thread says: how its start ended, what came of its next calls, or what has become due. */
export interface Reply {
  start?: Outcome;
  outcomes?: Outcome[];
  handedOut?: HandedOut[];
}

/** The bytes of the deliveries that are committed together, one request more or less. */
const BATCH_BYTES = 8 * 1024 * 1024;

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
    const handOut = (): void => {
      send({ handedOut: keeper.handOut() });
      wait();
    };
    timer = setTimeout(handOut, Math.min(pauseMs, MAX_PAUSE_MS));
  };

  /** What came while the last batch was on its way. */
  const queue: Request[] = [];
  const receive = (): void => {
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      queue.push(next.message as Request);
  };
  const carryOut = (): void => {
    receive();
    const batch: Request = { calls: [], bytes: 0, isLast: false };
    while (queue[0] && batch.bytes < BATCH_BYTES) {
      const { calls, bytes, isLast } = queue.shift() ?? batch;
      batch.calls.push(...calls);
      batch.bytes += bytes;
      batch.isLast = isLast;
    }
    const { calls } = batch;
    const outcomes = keeper.run(calls, batch.bytes);
    receive();
    for (const request of queue) keeper.noteEnds(request.calls);
    send({ outcomes, handedOut: keeper.handOut(calls, outcomes) });
    wait();
    if (batch.isLast) {
      clearTimeout(timer);
      keeper.close();
      port.close();
    } else if (queue.length > 0) setImmediate(carryOut);
  };
  port.on("message", (request: Request) => {
    if (queue.push(request) === 1) setImmediate(carryOut);
  });
  send({ start: {} });
}

if (parentPort) serve(parentPort);
