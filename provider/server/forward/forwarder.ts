import type { Dispatcher } from "undici";
import { KeyedQueue } from "../../lib/keyed-queue.js";
import { createDispatcher } from "../../lib/post.js";
import type { BackOffRange } from "../../lib/retry.js";
import type { Log } from "../log.js";
import type { Head } from "../spool/forward-queue.js";
import type { Spool } from "../spool/spool.js";
import { attemptForward, logSpoolFailure, SPOOL_PAUSE_MS } from "./attempt.js";

export interface ForwarderOptions {
  spool: Spool;
  log: Log;
  /** For one attempt. Default 30 seconds. */
  attemptTimeoutMs?: number;
  /** Between the attempts of one delivery. Default 1 second to 5 minutes. */
  backOff?: BackOffRange;
  /** How many deliveries are in progress at once. Default 32 a workspace and 256 in all. One workspace never fills more than half. */
  limits?: { perWorkspace: number; total: number };
  /** How long `close` waits for what is in progress. Default 5 seconds. */
  closeTimeoutMs?: number;
}

const DEFAULTS = {
  attemptTimeoutMs: 30_000,
  backOff: { firstMs: 1_000, longestMs: 300_000 },
  limits: { perWorkspace: 32, total: 256 },
  closeTimeoutMs: 5_000,
};

/** Where deliveries go, and how long each is tried. */
export interface ForwardPlan {
  /** URLs by workspace. One that is missing has its deliveries kept. */
  targets: ReadonlyMap<string, string>;
  /** Time behind another delivery of its conversation, or in which no forwarder ran, does not count. */
  maxAgeMs: number;
}

/** Looks for due deliveries at least this often, in milliseconds. */
const CHECK_EVERY_MS = 60 * 60 * 1000;

/** A workspace that forwards, or has forwarded. */
interface Lane {
  workspace: string;
  /** undefined: its deliveries are kept; what is in progress ends. */
  target: URL | undefined;
  /** When something of it is due, by the spool's clock; 0: as soon as possible. */
  dueMs: number;
  inProgress: Set<Head>;
  /** Its last attempt timed out. */
  isHanging: boolean;
}

/**
 * Forwards the deliveries in the spool, present and future: in order of acceptance within a conversation, with
 * conversations in parallel. Failed attempts are retried with growing pauses; refused or expired deliveries become dead
 * letters. Starts with its first plan.
 */
export class Forwarder {
  readonly #spool: Spool;
  readonly #log: Log;
  readonly #settings: typeof DEFAULTS;
  readonly #dispatcher: Dispatcher;
  readonly #lanes = new Map<string, Lane>();
  readonly #attempts = new Set<Promise<unknown>>();
  readonly #abandoning = new AbortController();
  readonly #startedMs: number;
  #maxAgeMs = 0;
  /** Plans and retries. */
  readonly #changes = new KeyedQueue();
  #soon: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor({ spool, log, ...settings }: ForwarderOptions) {
    this.#spool = spool;
    this.#startedMs = spool.queue.nowMs();
    this.#log = log;
    this.#settings = { ...DEFAULTS, ...settings };
    // HTTP/1.1 only: it keeps the headers as they came.
    this.#dispatcher = createDispatcher({ connections: this.#settings.limits.total, allowH2: false });
    spool.onAccepted((workspace) => this.#markDue(this.#lanes.get(workspace)));
  }

  /**
   * Forwards by this plan from now on; attempts in progress end as they began. The age of what a workspace has kept
   * counts from when it gets a target. A changed target is tried at once. Throws a TypeError for one that is not a URL.
   */
  follow({ targets, maxAgeMs }: ForwardPlan): void {
    const urls = new Map(Array.from(targets, ([workspace, url]) => [workspace, new URL(url)]));
    this.#change(async () => {
      this.#maxAgeMs = maxAgeMs;
      // Before anything is begun, since the age of what is found depends on it.
      await this.#tryWrite(() => this.#spool.queue.setForwarded([...urls.keys()]));
      const moved = this.#redirect(urls);
      this.#markAllDue();
      for (const workspace of moved) await this.#tryWrite(() => this.#spool.queue.retry(workspace));
    });
  }

  /**
   * Ends the pauses of one workspace, or of every one: what waits for its next attempt is forwarded at once, and what
   * another process has put back.
   */
  retry(workspace?: string): void {
    this.#markAllDue();
    this.#change(async () => {
      if (!this.#isClosing) await this.#tryWrite(() => this.#spool.retry(workspace));
    });
  }

  /**
   * Starts no new attempts. Resolves when those in progress have ended, or were given up because they took too long and
   * stay in the spool. The spool can be closed after that.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearImmediate(this.#soon);
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#abandoning.abort(), this.#settings.closeTimeoutMs);
    await this.#changes.idle();
    await Promise.all(this.#attempts);
    clearTimeout(timer);
    await this.#dispatcher.destroy();
  }

  #change(work: () => Promise<void>): void {
    void this.#changes.run("plan", async () => {
      await work();
      this.#markAllDue();
    });
  }

  /** Returns the workspaces that had a different target before. */
  #redirect(urls: ReadonlyMap<string, URL>): string[] {
    const moved: string[] = [];
    for (const lane of this.#lanes.values()) {
      const target = urls.get(lane.workspace);
      if (lane.target?.href !== target?.href) moved.push(lane.workspace);
      lane.target = target;
    }
    for (const [workspace, target] of urls) {
      if (!this.#lanes.has(workspace))
        this.#lanes.set(workspace, { workspace, target, dueMs: 0, inProgress: new Set(), isHanging: false });
    }
    return moved;
  }

  #markAllDue(): void {
    for (const lane of this.#lanes.values()) this.#markDue(lane);
  }

  #markDue(lane: Lane | undefined): void {
    if (lane !== undefined) lane.dueMs = 0;
    if (!this.#isClosing) this.#soon ??= setImmediate(() => this.#beginDue());
  }

  #beginDue(): void {
    this.#soon = undefined;
    const nowMs = this.#spool.queue.nowMs();
    try {
      // Those with the fewest attempts in progress first.
      const due = this.#lanesWithRoom().filter(({ dueMs }) => dueMs <= nowMs);
      for (const lane of due.toSorted((one, other) => one.inProgress.size - other.inProgress.size)) {
        this.#beginDueOf(lane, nowMs);
      }
    } catch (error) {
      logSpoolFailure(this.#log, error);
      this.#setTimer(SPOOL_PAUSE_MS);
      return;
    }
    this.#setTimer(Math.min(...this.#lanesWithRoom().map(({ dueMs }) => dueMs)) - nowMs);
  }

  #lanesWithRoom(): Lane[] {
    return [...this.#lanes.values()].filter((lane) => lane.target !== undefined && this.#roomOf(lane) > 0);
  }

  /**
   * How many attempts a workspace may begin. It leaves as many free as it has, so that a few targets that hang never take
   * all of them. Once its last attempt has timed out it has one at a time, and all such workspaces share half of all
   * attempts.
   */
  #roomOf({ inProgress, isHanging }: Lane): number {
    const { perWorkspace, total } = this.#settings.limits;
    const free = total - this.#attempts.size;
    const most = isHanging ? Math.min(1, free - Math.floor(total / 2)) : Math.min(perWorkspace, free);
    return most - inProgress.size;
  }

  #beginDueOf(lane: Lane, nowMs: number): void {
    const { queue } = this.#spool;
    // Those in progress are still due in the file.
    for (const head of queue.dueHeads(lane.workspace, nowMs, this.#roomOf(lane) + lane.inProgress.size)) {
      if (this.#roomOf(lane) > 0 && !isBlocked(lane, head)) this.#begin(lane, head);
    }
    if (this.#roomOf(lane) > 0) lane.dueMs = queue.nextDueMs(lane.workspace, nowMs) ?? Infinity;
  }

  #begin(lane: Lane, head: Head): void {
    const { queue } = this.#spool;
    const delivery = queue.read(head.position, this.#startedMs);
    // Another process may have taken it away.
    if (delivery === undefined || lane.target === undefined) return;
    lane.inProgress.add(head);
    const attempt = attemptForward(delivery, {
      url: lane.target,
      queue,
      log: this.#log,
      dispatcher: this.#dispatcher,
      timeoutMs: this.#settings.attemptTimeoutMs,
      backOff: this.#settings.backOff,
      maxAgeMs: this.#maxAgeMs,
      signal: this.#abandoning.signal,
    })
      .then(({ timedOut = false }) => (lane.isHanging = timedOut))
      .finally(() => {
        this.#attempts.delete(attempt);
        lane.inProgress.delete(head);
        this.#markDue(lane);
      });
    this.#attempts.add(attempt);
  }

  /** One timer, for the first delivery that is due in any workspace. */
  #setTimer(delayMs: number): void {
    clearTimeout(this.#timer);
    if (delayMs === Infinity || this.#isClosing) return;
    const ms = Math.min(Math.max(delayMs, 1), CHECK_EVERY_MS);
    this.#timer = setTimeout(() => this.#beginDue(), ms);
  }

  async #tryWrite(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      logSpoolFailure(this.#log, error);
    }
  }
}

/** Whether a delivery, or another one of its conversation, is in progress: then it has to wait. */
const isBlocked = ({ inProgress }: Lane, { position, conversation }: Head): boolean =>
  [...inProgress].some(
    (other) =>
      other.position === position || (conversation !== undefined && other.conversation === conversation),
  );
