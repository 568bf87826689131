import { ApiChatError } from "../errors/index.js";
import { anySignal, MAX_TIMER_MS, orAborted } from "../lib/abort.js";
import {
  deliverableRegistration,
  type DeliveryRecord,
  type EmulatorState,
  type HandshakeRecord,
  type MessageRecord,
  type WorkspaceState,
} from "./state.js";

/**
 * The record to wait for: a predicate, or the fields that it must have, at any depth, such as
 * `{ workspace: "acme", verdict: "delivered" }` or `{ body: { content: "hello" } }`.
 */
export type Match<T> = { [Field in keyof T]?: T[Field] | Partial<T[Field]> } | ((record: T) => boolean);

/** How long to wait, and for which records. */
export interface WaitOptions {
  /** The time limit in milliseconds. Default 10,000. */
  timeoutMs?: number;
  /** Only records newer than this one. Default: any. */
  after?: {
    /** The `order` of that record. */
    readonly order: number;
  };
}

interface RecordTypes {
  delivery: DeliveryRecord;
  handshake: HandshakeRecord;
  message: MessageRecord;
}

type Kind = keyof RecordTypes;

const recordsOf: { [K in Kind]: (workspace: WorkspaceState) => RecordTypes[K][] } = {
  delivery: ({ deliveries }) => deliveries,
  handshake: ({ handshakes }) => handshakes,
  message: ({ conversations }) => [...conversations.values()].flatMap(({ messages }) => messages),
};

/** Resolves with the newest matching record or, if there is none yet, with the next one. */
export async function waitForRecord<K extends Kind>(
  state: EmulatorState,
  kind: K,
  match: Match<RecordTypes[K]>,
  { timeoutMs = 10_000, after = { order: 0 } }: WaitOptions,
): Promise<RecordTypes[K]> {
  const matches = typeof match === "function" ? match : (record: object) => matchesPartially(record, match);
  const isWanted = (record: RecordTypes[K]): boolean =>
    isDone(record, match) && record.order > after.order && matches(record);
  const known = listRecords(state, kind).findLast(isWanted);
  if (known !== undefined) return known;
  const { promise, resolve } = Promise.withResolvers<RecordTypes[K]>();
  const unsubscribe = state.changes.subscribe((change) => {
    if (change.type !== kind) return;
    const record = (change as unknown as RecordTypes)[kind];
    if (isWanted(record)) resolve(record);
  });
  const { closing } = state.outgoing;
  const timeout = AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS));
  try {
    return await orAborted(promise, anySignal(closing, timeout));
  } catch {
    const operation = kind === "handshake" ? "handshake" : "message";
    if (closing.aborted) throw new ApiChatError("unavailable", "the emulator was closed", { operation });
    const instead = describeInstead(state, kind, "workspace" in match ? match.workspace : undefined);
    const text = `no matching ${kind} within ${timeoutMs} ms; ${instead}`;
    throw new ApiChatError("timeout", text, { operation });
  } finally {
    unsubscribe();
  }
}

/** A pending delivery will still change, so it matches only if `match` asks for the verdict `pending`. */
function isDone(record: object, match: object): boolean {
  if (!("verdict" in record) || record.verdict !== "pending") return true;
  return "verdict" in match && match.verdict === "pending";
}

function matchesPartially(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return Object.is(value, wanted);
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map(Object.entries(value));
  return Object.entries(wanted).every(([name, field]) => matchesPartially(fields.get(name), field));
}

/** Returns the records of all workspaces, oldest first. */
export function listRecords<K extends Kind>({ directory }: EmulatorState, kind: K): RecordTypes[K][] {
  return [...directory.values()].flatMap(recordsOf[kind]).toSorted((a, b) => a.order - b.order);
}

const SHOWN = 5;

/** Describes what was recorded instead, or explains why there is nothing. */
function describeInstead(state: EmulatorState, kind: Kind, wanted: unknown): string {
  const { directory, settings } = state;
  const workspaces = [...directory.values()].filter(({ name }) => wanted === undefined || name === wanted);
  if (workspaces.length === 0) {
    const named = typeof wanted === "string" ? ` named ${JSON.stringify(wanted)}` : "";
    const others = directory.size === 0 ? "" : `; the emulator has ${[...directory.keys()].join(", ")}`;
    return `there is no workspace${named}${others}`;
  }
  const isIdle = (workspace: WorkspaceState): boolean =>
    workspace.deliveries.length === 0 && deliverableRegistration(workspace, settings) === null;
  if (kind === "delivery" && workspaces.every(isIdle)) {
    return `no verified webhook is registered in ${workspaces.map(({ name }) => name).join(", ")}`;
  }
  const seen = listRecords(state, kind);
  if (seen.length === 0) return `no ${kind} was recorded`;
  return `the last of ${seen.length}: ${seen.slice(-SHOWN).map(describe).join("; ")}`;
}

/** Describes a record without message texts, URLs and keys. */
function describe(record: RecordTypes[Kind]): string {
  const about = `${record.id} of workspace "${record.workspace}"`;
  if ("from" in record) return `${about} from the ${record.from}`;
  return `${about} ${record.verdict}${record.reason === "" ? "" : ` (${record.reason})`}`;
}
