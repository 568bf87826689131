import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { SqliteError } from "../../lib/sqlite.js";
import type { AcceptedDelivery, HeaderPair } from "./database.js";
import type { DeadLetterChoice } from "./file.js";
import type { Call, CallName, Failure } from "./keeper.js";
import type { AttemptLimits } from "./lanes.js";
import type { SpoolQueue } from "./queue.js";
import type { Batch, Reply, SpoolWorkerOptions } from "./spool-worker.js";
import { SPOOL_FILE } from "./volume.js";

const DEFAULTS = {
  /** How many deliveries are forwarded at once. */
  limits: { perWorkspace: 64, total: 256 },
  tidyAfterMs: 5_000,
};

/** How many bytes of deliveries one batch contains; the last delivery may exceed this. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** How many bytes may wait for the disk before further requests wait in their sockets. */
const WAITING_BYTES = 16 * 1024 * 1024;

/** How many dead letters one commit moves at most, so that other writes get their turn. */
const ROWS_PER_COMMIT = 200;

const sizeOf = ([name, delivery]: Call): number =>
  name === "accept" ? delivery.headers.length + delivery.body.byteLength : 0;

const toError = ({ code, message }: Failure): SqliteError => new SqliteError(code, message);

/** Nothing catches this, so the process ends. Nothing is lost: the file contains every acknowledged delivery. */
class SpoolThreadError extends Error {
  override readonly name = "SpoolThreadError";
}

/** A delivery to forward now. It is not returned again until `release`, or until the pause after `fail` is over. */
export interface TakenDelivery extends Omit<AcceptedDelivery, "conversation"> {
  position: number;
  attempts: number;
}

interface PendingCall {
  call: Call;
  bytes: number;
  resolve(value: unknown): void;
  reject(error: SqliteError): void;
}

/**
 * Opens the spool of a data folder. Creates a missing file (0600). The file of a killed process opens without
 * repair. Only the process that holds the folder may write; others may read. Rejects with a SqliteError or a
 * file system error.
 */
export async function openSpool(dataDir: string, options: Partial<typeof DEFAULTS> = {}): Promise<Spool> {
  const spool = new Spool({ path: join(dataDir, SPOOL_FILE), ...DEFAULTS, ...options });
  try {
    await spool.opened;
    return spool;
  } catch (error) {
    await spool.close();
    throw error;
  }
}

/**
 * The deliveries that are acknowledged but not yet forwarded, in a SQLite file that survives the process.
 * SQLite works in its own thread. Calls that arrive while it works form its next batch: one transaction, and one wait
 * for the disk. The thread's reply contains the outcomes of these calls, and the deliveries that are due.
 */
export class Spool {
  readonly limits: AttemptLimits;
  /** Rejects if the file cannot be opened. */
  readonly opened: Promise<unknown>;
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  readonly #next: PendingCall[] = [];
  /** The calls that wait for the thread's next reply: first the opening of the file, then one batch at a time. */
  #sent: Omit<PendingCall, "call">[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #bytes = 0;
  #room: PromiseWithResolvers<void> | undefined;
  /** `closed`: the last batch has been sent. */
  #state: "open" | "closing" | "closed" = "open";

  onDue: (delivery: TakenDelivery) => void = () => {};
  /** Called with the reason why deliveries of some workspaces cannot be read. The reads are retried later. */
  onUnreadable: (error: SqliteError) => void = () => {};

  constructor(workerData: SpoolWorkerOptions) {
    this.limits = workerData.limits;
    this.#worker = new Worker(new URL("./spool-worker.js", import.meta.url), { name: "spool", workerData });
    // There must be no listener for the thread's errors, so that an error ends this process.
    this.#worker.on("message", (reply: Reply) => this.#receive(reply));
    this.opened = new Promise((resolve, reject) => this.#sent.push({ bytes: 0, resolve, reject }));
    this.#ended = new Promise<void>((resolve) => {
      this.#worker.once("exit", (code) => {
        if (this.#state === "open")
          throw new SpoolThreadError(`the spool's thread ended with exit code ${code}`);
        resolve();
      });
    });
  }

  /**
   * Resolves once a delivery is on disk and may be acknowledged. If it rejects with a SqliteError, nothing is
   * stored, unless the code is `failed`: then the disk has failed or a file was removed, and the delivery may
   * still be forwarded. The code `full` means that the write would use the disk's reserve.
   */
  accept({ id, workspace, conversation, headers, body }: AcceptedDelivery): Promise<void> {
    return this.ask(
      "accept",
      { id, workspace, conversation: conversation ?? null, headers: JSON.stringify(headers), body },
      Date.now(),
    );
  }

  /** Resolves when there is room in memory for another delivery: until then, a request waits in its socket. */
  async waitForRoom(): Promise<void> {
    while (this.#bytes > WAITING_BYTES) await (this.#room ??= Promise.withResolvers()).promise;
  }

  /** Tests whether deliveries can be accepted: stores and removes one of 32 KiB. Rejects as `accept` does. */
  check(): Promise<void> {
    return this.ask("check");
  }

  /** Replayed dead letters keep their IDs and their original positions, and their age starts over. */
  async replay(choice: DeadLetterChoice): Promise<number> {
    // Chosen up front, because letters that are rejected again meanwhile would otherwise be replayed forever.
    const positions = await this.ask("chooseDead", choice);
    let count = 0;
    for (let start = 0; start < positions.length; start += ROWS_PER_COMMIT)
      count += await this.ask("replayEach", positions.slice(start, start + ROWS_PER_COMMIT));
    return count;
  }

  /**
   * Calls a method of {@link SpoolQueue} in the next batch. Resolves with the method's result once its
   * changes are on the disk. If it rejects with a SqliteError, nothing has changed.
   */
  ask<Name extends CallName>(
    name: Name,
    ...parameters: Parameters<SpoolQueue[Name]>
  ): Promise<ReturnType<SpoolQueue[Name]>> {
    if (this.#state !== "open") return Promise.reject(new SqliteError("closed", "the spool is closed"));
    const { promise, ...settle } = Promise.withResolvers<unknown>();
    const call = [name, ...parameters] as unknown as Call;
    const bytes = sizeOf(call);
    this.#next.push({ call, bytes, ...settle });
    this.#bytes += bytes;
    // Sent together with all other calls of this turn of the event loop.
    this.#scheduled ??= setImmediate(() => this.#send());
    return promise as Promise<ReturnType<SpoolQueue[Name]>>;
  }

  /** Finishes waiting calls, then closes the file. Later calls are rejected. */
  async close(): Promise<void> {
    if (this.#state === "open") {
      this.#state = "closing";
      this.#send();
    }
    await this.#ended;
  }

  #send(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    if (this.#sent.length > 0) return;
    let [count, bytes] = [0, 0];
    for (; count < this.#next.length && bytes < BATCH_BYTES; count += 1)
      bytes += this.#next[count]?.bytes ?? 0;
    const calls = this.#next.splice(0, count);
    this.#sent = calls;
    const isLast = this.#state === "closing" && this.#next.length === 0;
    if (count === 0 && !isLast) return;
    if (isLast) this.#state = "closed";
    const batch: Batch = { calls: calls.map(({ call }) => call), bytes, isLast };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is a thread, not a window
    this.#worker.postMessage(batch);
  }

  #receive({ outcomes, due, failure }: Reply): void {
    for (const [index, pending] of this.#sent.splice(0, outcomes.length).entries()) {
      const { value, error } = outcomes[index] ?? {};
      this.#bytes -= pending.bytes;
      if (error) pending.reject(toError(error));
      else pending.resolve(value);
    }
    if (this.#bytes <= WAITING_BYTES) {
      this.#room?.resolve();
      this.#room = undefined;
    }
    if (failure) this.onUnreadable(toError(failure));
    for (const { headers, ...delivery } of due)
      this.onDue({ ...delivery, headers: JSON.parse(headers) as HeaderPair[] });
    this.#send();
  }
}
