import type { Head } from "./forward-queue.js";

/** Where a workspace's deliveries go. */
export interface ForwardTarget {
  url: string;
}

/** A time that never comes. */
export const NEVER_MS = Number.POSITIVE_INFINITY;

/** What one workspace has under way, and when to look at its queue again. */
export class WorkspaceForwarding {
  readonly workspace: string;
  /** undefined: its deliveries are kept; what is under way ends. */
  target: URL | undefined;
  /** Since 1970; 0: at the next opportunity. */
  lookAtMs = 0;
  readonly #running = new Map<number, string | undefined>();

  constructor(workspace: string) {
    this.workspace = workspace;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Whether a delivery, or another one of its conversation, is under way: then it has to wait. */
  isBlocked({ position, conversation }: Head): boolean {
    if (this.#running.has(position)) return true;
    return conversation !== undefined && [...this.#running.values()].includes(conversation);
  }

  begin({ position, conversation }: Head): void {
    this.#running.set(position, conversation);
  }

  end({ position }: Head): void {
    this.#running.delete(position);
  }
}
