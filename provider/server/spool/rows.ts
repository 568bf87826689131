import type { SQLOutputValue } from "node:sqlite";

/** A header as it came: name and value. Repeated names stay apart, in their order. */
export type HeaderPair = readonly [name: string, value: string];

/** A verified delivery, to be kept until it is forwarded. */
export interface AcceptedDelivery {
  /** A UUID. It stays the same through retries, restarts and replays. */
  id: string;
  workspace: string;
  /** Deliveries of one conversation are forwarded in order; one without a conversation waits for none. */
  conversation: string | undefined;
  headers: readonly HeaderPair[];
  body: Uint8Array;
}

/** A delivery that waits to be forwarded or read. */
export interface KeptDelivery extends AcceptedDelivery {
  /** Its place in the order of acceptance. */
  position: number;
  /** In milliseconds since 1970. */
  acceptedMs: number;
  /** How many attempts to forward it have failed. */
  attempts: number;
  /** Why the last one failed. */
  failure: string | undefined;
  /** When the next attempt is due, in milliseconds since 1970; undefined: its workspace is not forwarded, or it waits behind another. */
  dueMs?: number | undefined;
}

/** A delivery that could not be forwarded. */
export interface DeadLetter extends KeptDelivery {
  failure: string;
  /** When it was given up, in milliseconds since 1970. */
  buriedMs: number;
}

/** Which rows a list gives. */
export interface ListOptions {
  /** Default: all. */
  workspace?: string | undefined;
  /** The most rows to give. */
  limit: number;
  /** Only rows behind this position: to read on where the last list ended. */
  after?: number | undefined;
}

/** A row of either table, as SQLite gives it. */
type Row = Record<string, SQLOutputValue>;

export function toKeptDelivery(row: Row): KeptDelivery {
  return {
    position: Number(row.position),
    id: row.id as string,
    workspace: row.workspace as string,
    conversation: optionalText(row.conversation),
    acceptedMs: Number(row.accepted_ms),
    attempts: Number(row.attempts),
    failure: optionalText(row.failure),
    dueMs: typeof row.next_due_ms === "number" ? row.next_due_ms : undefined,
    headers: JSON.parse(row.headers as string) as HeaderPair[],
    body: row.body as Uint8Array,
  };
}

export function toDeadLetter(row: Row): DeadLetter {
  return { ...toKeptDelivery(row), failure: row.failure as string, buriedMs: Number(row.buried_ms) };
}

const optionalText = (value: SQLOutputValue | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;
