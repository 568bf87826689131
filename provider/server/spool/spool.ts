import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { makeFolders } from "../../lib/files.js";
import { SqliteError } from "../../lib/sqlite.js";
import type { AcceptedDelivery } from "./database.js";
import type { Call, CallName, CallOf, HandedOut, Outcome, ResultOf } from "./keeper.js";
import type { AttemptLimits } from "./lanes.js";
import type { Reply, Request, SpoolWorkerOptions } from "./spool-worker.js";
import type { AttemptEnd, DeadLetterChoice, FailedAttempt, SpoolCounts } from "./store.js";
import { SPOOL_FILE } from "./volume.js";

const TIDY_AFTER_MS = 5_000;

/** The bytes of a request beyond which it is not made larger. */
const REQUEST_BYTES = 1024 * 1024;

/** The bytes that wait for the disk before further requests wait at their sockets. */
const WAITING_BYTES = 16 * 1024 * 1024;

/** How many rows one commit replays or retries, so that other writes get their turn. */
const ROWS_PER_COMMIT = 200;

/** The thread has ended by itself. Nobody catches this: the process ends, and the file has all that was acknowledged. */
class SpoolThreadError extends Error {
  override readonly name = "SpoolThreadError";
}

/** A delivery to forward now. */
export interface TakenDelivery extends AcceptedDelivery {
  position: number;
  /** How many attempts to forward it have failed. */
  attempts: number;
}

/** A call that waits for what comes of it. */
interface PendingCall {
  call: Call;
  bytes: number;
  /** What an `accept` stores. */
  delivery: AcceptedDelivery | undefined;
  resolve(value: unknown): void;
  reject(error: SqliteError): void;
}

/**
 * Opens the spool of a data folder. Creates its file (0600) and the folder (0700) if they are missing. The file of a killed
 * process opens as it is. Only the process that holds the folder may write; others may read. Rejects with a SqliteError or
 * an error of the file system.
 */
export async function openSpool(dataDir: string, tidyAfterMs = TIDY_AFTER_MS): Promise<Spool> {
  makeFolders(dataDir);
  const workerData: SpoolWorkerOptions = { path: join(dataDir, SPOOL_FILE), tidyAfterMs };
  const worker = new Worker(new URL("./spool-worker.js", import.meta.url), { name: "spool", workerData });
  const [{ start }] = (await once(worker, "message")) as [Reply];
  if (start?.error) throw new SqliteError(start.error.code, start.error.message);
  return new Spool(worker);
}

/**
 * The deliveries that are acknowledged but not yet forwarded, in a SQLite file that survives the process. SQLite works in
 * a thread of its own. What is asked of it while it works is its next batch: one transaction, and one wait for the
 * disk. It alone knows which deliveries are due, and hands them out with the results.
 */
export class Spool {
  readonly #worker: Worker;
  /** Those of this turn of the event loop. */
  readonly #pending: PendingCall[] = [];
  /** Those that the thread has been sent. */
  readonly #sent: PendingCall[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #pendingBytes = 0;
  /** Those of all calls that wait. */
  #waitingBytes = 0;
  /** Resolves when less than {@link WAITING_BYTES} wait. */
  #room: PromiseWithResolvers<void> | undefined;
  #isClosed = false;
  readonly #ended: Promise<unknown>;

  /** Called with each delivery that is to be forwarded. It is in progress until `complete`, `reschedule`, `bury` or `release`. */
  onDue: (delivery: TakenDelivery) => void = (delivery) => this.release(delivery);

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (reply: Reply) => this.#receive(reply));
    // An error of the thread that nobody catches is one of this process: there is no listener for it.
    this.#ended = new Promise<void>((resolve) => {
      worker.once("exit", (code) => {
        if (!this.#isClosed) throw new SpoolThreadError(`the spool's thread ended with exit code ${code}`);
        resolve();
      });
    });
  }

  /**
   * Stores a delivery. Resolves once it is on the disk and may be acknowledged. Rejects with a SqliteError (`full`, `busy`,
   * `closed`, `failed`), and then nothing of it is stored, unless it is `failed`: the disk has failed or a file was
   * removed, and it may be forwarded anyway. `full`: the reserve on the disk would shrink.
   */
  async accept(delivery: AcceptedDelivery): Promise<void> {
    const { id, workspace, conversation, body } = delivery;
    const headers = JSON.stringify(delivery.headers);
    const stored = { id, workspace, conversation, headers, body };
    await this.#call(["accept", stored, Date.now()], headers.length + body.byteLength, delivery);
  }

  /** Resolves when there is room in memory for another delivery: until then a request waits at its socket. */
  async waitForRoom(): Promise<void> {
    while (this.#waitingBytes > WAITING_BYTES) await (this.#room ??= Promise.withResolvers()).promise;
  }

  /** Stores and removes a delivery of 32 KiB. Rejects with a SqliteError if none could be accepted now. */
  check(): Promise<void> {
    return this.#call(["check"]);
  }

  /** Deletes a forwarded delivery. */
  complete({ position }: TakenDelivery, end: AttemptEnd = {}): Promise<void> {
    return this.#call(["complete", position, end]);
  }

  /**
   * Counts a failed attempt. Neither the delivery nor those behind it are due until the pause is over; the last attempt is
   * made when its age is reached. Resolves with false, and changes nothing, if that was this one.
   */
  reschedule({ position }: TakenDelivery, attempt: FailedAttempt): Promise<boolean> {
    return this.#call(["reschedule", position, attempt]);
  }

  /** Makes a delivery a dead letter, and counts the failed attempt. */
  bury({ position }: TakenDelivery, failure: string, end: AttemptEnd = {}): Promise<void> {
    return this.#call(["bury", position, failure, end]);
  }

  /** Makes a delivery available again whose attempt has come to nothing. */
  release({ position }: TakenDelivery): void {
    if (!this.#isClosed) void this.#call(["release", position]);
  }

  /**
   * Records which workspaces are forwarded from now on. The age of the deliveries that a workspace has kept counts from
   * when it first appears here. Workspaces that are not listed are forgotten.
   */
  setForwarded(workspaces: readonly string[]): Promise<void> {
    return this.#call(["setForwarded", workspaces]);
  }

  /** Limits the attempts in progress from now on. Nothing of the workspaces in `except` is handed out. */
  handOut(limits: AttemptLimits, except: readonly string[] = []): Promise<void> {
    return this.#call(["handOut", limits, except]);
  }

  /** Makes waiting deliveries due now, of these workspaces or of all. Resolves with the number of conversations. */
  async retry(workspaces?: readonly string[]): Promise<number> {
    return this.#changeEach("retryEach", await this.#call(["chooseWaiting", workspaces]));
  }

  /**
   * Moves dead letters back to their original position in the queue. They keep their IDs, and their age starts again.
   * Resolves with their number.
   */
  async replay(choice: DeadLetterChoice): Promise<number> {
    // Selects all of them up front: letters that are rejected again in the meantime would be replayed forever.
    return this.#changeEach("replayEach", await this.#call(["chooseDead", choice]));
  }

  /** Counts the rows by workspace. A workspace without rows is missing. */
  counts(): Promise<Map<string, SpoolCounts>> {
    return this.#call(["counts"]);
  }

  /** Carries out waiting calls, and closes the file. Later calls are rejected. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#send();
    }
    await this.#ended;
  }

  async #changeEach(name: "retryEach" | "replayEach", positions: readonly number[]): Promise<number> {
    let count = 0;
    for (let start = 0; start < positions.length; start += ROWS_PER_COMMIT)
      count += await this.#call([name, positions.slice(start, start + ROWS_PER_COMMIT)]);
    return count;
  }

  #call<Name extends CallName>(
    call: CallOf<Name>,
    bytes = 0,
    delivery?: AcceptedDelivery,
  ): Promise<ResultOf<Name>> {
    if (this.#isClosed) return Promise.reject(new SqliteError("closed", "the spool is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.push({ call, bytes, delivery, resolve, reject });
    this.#waitingBytes += bytes;
    this.#pendingBytes += bytes;
    if (this.#pendingBytes >= REQUEST_BYTES) this.#send();
    // Together with what else comes in this turn of the event loop.
    else this.#scheduled ??= setImmediate(() => this.#send());
    return promise as Promise<ResultOf<Name>>;
  }

  #send(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const calls = this.#pending.map(({ call }) => call);
    const request: Request = { calls, bytes: this.#pendingBytes, isLast: this.#isClosed };
    this.#sent.push(...this.#pending.splice(0));
    this.#pendingBytes = 0;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is a thread, not a window
    this.#worker.postMessage(request);
  }

  #receive({ outcomes = [], handedOut = [] }: Reply): void {
    const calls = this.#sent.splice(0, outcomes.length);
    for (const [index, outcome] of outcomes.entries()) this.#settle(calls[index], outcome);
    for (const one of handedOut) this.onDue(toTaken(one, calls));
  }

  #settle(call: PendingCall | undefined, { value, error }: Outcome): void {
    if (call === undefined) return;
    this.#waitingBytes -= call.bytes;
    if (this.#waitingBytes <= WAITING_BYTES) {
      this.#room?.resolve();
      this.#room = undefined;
    }
    if (error === undefined) call.resolve(value);
    else call.reject(new SqliteError(error.code, error.message));
  }
}

/** What was accepted is still in memory. */
function toTaken(
  { position, attempts, call, delivery }: HandedOut,
  batch: readonly PendingCall[],
): TakenDelivery {
  const accepted = call === undefined ? delivery : batch[call]?.delivery;
  if (accepted === undefined) throw new Error(`delivery ${position} was handed out without its content`);
  return { ...accepted, position, attempts };
}
