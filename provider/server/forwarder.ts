import type { Dispatcher } from "undici";
import { createDispatcher } from "../lib/post.js";
import type { BackOffRange } from "../lib/retry.js";
import { attemptForward, SPOOL_PAUSE_MS } from "./forward-attempt.js";
import { createForwardNotes, type ForwardNotes } from "./forward-notes.js";
import type { Head } from "./forward-queue.js";
import type { Log } from "./log.js";
import type { Spool } from "./spool.js";
import { NEVER_MS, WorkspaceForwarding, type ForwardTarget } from "./workspace-forwarding.js";

export type { ForwardTarget } from "./workspace-forwarding.js";

/** How many deliveries are under way at once. */
interface ForwardLimits {
  perWorkspace: number;
  total: number;
}

export interface ForwarderOptions {
  spool: Spool;
  /** By workspace. One that is missing has its deliveries kept. */
  targets: ReadonlyMap<string, ForwardTarget>;
  log: Log;
  /** How long a delivery is tried. Time behind another of its conversation, or in which no forwarder ran, does not count. */
  maxAgeMs: number;
  /** For one attempt. Default 30 seconds. */
  attemptTimeoutMs?: number;
  /** Between the attempts of one delivery. Default 1 second to 5 minutes. */
  backOff?: BackOffRange;
  /** Default 32 a workspace and 256 in all. */
  limits?: ForwardLimits;
  /** How long `close` waits for what is under way. Default 5 seconds. */
  closeTimeoutMs?: number;
}

const DEFAULTS = {
  attemptTimeoutMs: 30_000,
  backOff: { firstMs: 1_000, longestMs: 300_000 },
  limits: { perWorkspace: 32, total: 256 },
  closeTimeoutMs: 5_000,
};

/** A timer may not be set farther ahead; looking again in between costs nothing. */
const LONGEST_TIMER_MS = 60 * 60 * 1000;

/**
 * Forwards what the spool holds, now and from now on: in the order of acceptance within a conversation, conversations side
 * by side. Failed attempts are repeated with growing pauses; what is refused or too old becomes a dead letter. Throws a
 * TypeError for a target that is no URL.
 */
export function startForwarder(options: ForwarderOptions): Forwarder {
  const forwarder = new Forwarder(options);
  forwarder.setTargets(options.targets);
  return forwarder;
}

/** What forwards. */
export class Forwarder {
  readonly #spool: Spool;
  readonly #settings: typeof DEFAULTS;
  readonly #dispatcher: Dispatcher;
  readonly #notes: ForwardNotes;
  readonly #forwardings = new Map<string, WorkspaceForwarding>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #abandoning = new AbortController();
  readonly #startedMs = Date.now();
  #maxAgeMs: number;
  #configuring: Promise<void> = Promise.resolve();
  #look: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(options: Omit<ForwarderOptions, "targets">) {
    const { spool, log, maxAgeMs } = options;
    this.#spool = spool;
    this.#settings = { ...DEFAULTS, ...options };
    this.#maxAgeMs = maxAgeMs;
    // HTTP/1.1 only: it keeps the headers as they came.
    this.#dispatcher = createDispatcher({ connections: this.#settings.limits.total, allowH2: false });
    this.#notes = createForwardNotes(log);
    spool.onAccepted((workspace) => this.#lookAt(this.#forwardings.get(workspace)));
  }

  /**
   * Forwards to these from now on; attempts under way end as they began. The age of what a workspace has kept counts from
   * when it gets a target. A changed target is tried at once. Throws a TypeError for one that is no URL.
   */
  setTargets(targets: ReadonlyMap<string, ForwardTarget>, maxAgeMs = this.#maxAgeMs): void {
    const urls = new Map(Array.from(targets, ([workspace, { url }]) => [workspace, new URL(url)]));
    this.#configuring = this.#configuring.then(() => this.#applyTargets(urls, maxAgeMs));
  }

  /**
   * Ends the pauses of one workspace, or of every one: what waits for its next attempt is forwarded at once, and what
   * another process has put back.
   */
  wake(workspace?: string): void {
    this.#lookAtAll();
    this.#configuring = this.#configuring.then(() => this.#endPauses(workspace));
  }

  /**
   * Begins no more. Resolves when what is under way has ended, or is given back to the spool because it took too long:
   * the spool may be closed then.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearImmediate(this.#look);
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#abandoning.abort(), this.#settings.closeTimeoutMs);
    await this.#configuring;
    await Promise.all(this.#attempts);
    clearTimeout(timer);
    await this.#dispatcher.destroy();
  }

  async #applyTargets(urls: ReadonlyMap<string, URL>, maxAgeMs: number): Promise<void> {
    this.#maxAgeMs = maxAgeMs;
    // Before anything is begun, since the age of what is found depends on it.
    await this.#tryWrite(() => this.#spool.queue.setForwarded([...urls.keys()]));
    const moved = [...this.#forwardings.values()].filter(
      (one) => one.target?.href !== urls.get(one.workspace)?.href,
    );
    for (const workspace of urls.keys()) {
      if (!this.#forwardings.has(workspace))
        this.#forwardings.set(workspace, new WorkspaceForwarding(workspace));
    }
    for (const forwarding of this.#forwardings.values()) forwarding.target = urls.get(forwarding.workspace);
    this.#lookAtAll();
    for (const { workspace } of moved) await this.#tryWrite(() => this.#spool.queue.makeDue(workspace));
    if (moved.length > 0) this.#lookAtAll();
  }

  async #endPauses(workspace: string | undefined): Promise<void> {
    if (this.#isClosing) return;
    await this.#tryWrite(() => this.#spool.retryNow(workspace));
    this.#lookAtAll();
  }

  #lookAtAll(): void {
    for (const forwarding of this.#forwardings.values()) this.#lookAt(forwarding);
  }

  #lookAt(forwarding: WorkspaceForwarding | undefined): void {
    if (forwarding !== undefined) forwarding.lookAtMs = 0;
    if (!this.#isClosing) this.#look ??= setImmediate(() => this.#beginDue());
  }

  #beginDue(): void {
    this.#look = undefined;
    const nowMs = Date.now();
    try {
      for (const forwarding of this.#withWork(nowMs)) this.#beginDueOf(forwarding, nowMs);
    } catch (error) {
      this.#notes.spoolFailed(error);
      this.#setTimer(SPOOL_PAUSE_MS);
      return;
    }
    const lookAtMs = Math.min(...this.#withRoom().map((forwarding) => forwarding.lookAtMs));
    this.#setTimer(lookAtMs - nowMs);
  }

  /** Those with the fewest attempts under way first, so that a target that hangs leaves room for the others. */
  #withWork(nowMs: number): WorkspaceForwarding[] {
    return this.#withRoom()
      .filter(({ lookAtMs }) => lookAtMs <= nowMs)
      .toSorted((one, other) => one.runningCount - other.runningCount);
  }

  #withRoom(): WorkspaceForwarding[] {
    return [...this.#forwardings.values()].filter((one) => one.target !== undefined && this.#roomOf(one) > 0);
  }

  #roomOf({ runningCount }: WorkspaceForwarding): number {
    const { perWorkspace, total } = this.#settings.limits;
    return Math.min(perWorkspace - runningCount, total - this.#attempts.size);
  }

  #beginDueOf(forwarding: WorkspaceForwarding, nowMs: number): void {
    const { queue } = this.#spool;
    const { workspace, runningCount } = forwarding;
    const room = this.#roomOf(forwarding);
    // Those under way are still due in the file.
    for (const head of queue.dueHeads(workspace, nowMs, room + runningCount)) {
      if (this.#roomOf(forwarding) > 0 && !forwarding.isBlocked(head)) this.#begin(forwarding, head);
    }
    if (this.#roomOf(forwarding) > 0) forwarding.lookAtMs = queue.nextDueMs(workspace, nowMs) ?? NEVER_MS;
  }

  #begin(forwarding: WorkspaceForwarding, head: Head): void {
    const { queue } = this.#spool;
    const { target: url } = forwarding;
    const delivery = queue.read(head.position, this.#startedMs);
    // Another process may have taken it away.
    if (delivery === undefined || url === undefined) return;
    forwarding.begin(head);
    const attempt = attemptForward(delivery, {
      url,
      queue,
      dispatcher: this.#dispatcher,
      notes: this.#notes,
      timeoutMs: this.#settings.attemptTimeoutMs,
      backOff: this.#settings.backOff,
      maxAgeMs: this.#maxAgeMs,
      signal: this.#abandoning.signal,
    }).finally(() => {
      this.#attempts.delete(attempt);
      forwarding.end(head);
      this.#lookAt(forwarding);
    });
    this.#attempts.add(attempt);
  }

  /** One timer, for the first delivery that is due in any workspace. */
  #setTimer(delayMs: number): void {
    clearTimeout(this.#timer);
    if (delayMs === NEVER_MS || this.#isClosing) return;
    const ms = Math.min(Math.max(delayMs, 1), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#beginDue(), ms);
  }

  async #tryWrite(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#notes.spoolFailed(error);
    }
  }
}
