import { ApiChatError } from "../errors/index.js";
import type { Change } from "./changes.js";
import type { EmulatorState } from "./emulator-state.js";
import type { DeliveryRecord, HandshakeRecord, MessageRecord } from "./records.js";
import { deliverableRegistration, type WorkspaceState } from "./workspace-state.js";

/**
 * Which record is meant: a function, or the fields that it must have; of a field that is an object, the named fields. Such
 * as `{ workspace: "acme", verdict: "delivered" }` or `{ body: { content: "hello" } }`.
 */
export type Match<T> = { [Field in keyof T]?: T[Field] | Partial<T[Field]> } | ((record: T) => boolean);

export interface WaitOptions {
  /** Default 10,000. */
  timeoutMs?: number;
  /** Ends the waiting; it then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Only a record that is newer than this one, such as the one that was waited for before. Default: any. */
  after?: { readonly order: number };
}

interface RecordTypes {
  delivery: DeliveryRecord;
  handshake: HandshakeRecord;
  message: MessageRecord;
}

type Kind = keyof RecordTypes;

/** What is waited for. */
interface Wanted<T> {
  match: Match<T>;
  options: WaitOptions;
}

/** Resolves with the newest record that matches, or else the first one to come. */
export function waitForRecord<K extends Kind>(
  state: EmulatorState,
  kind: K,
  { match, options }: Wanted<RecordTypes[K]>,
): Promise<RecordTypes[K]> {
  const isWanted = (record: RecordTypes[K]): boolean =>
    isDone(record, match) && record.order > (options.after?.order ?? 0) && matches(record, match);
  const known = listRecords(state, kind).findLast(isWanted);
  if (known !== undefined) return Promise.resolve(known);
  return waitForNext(state, options, {
    pick: (change) => {
      const record = recordOf(change, kind);
      return record !== undefined && isWanted(record) ? record : undefined;
    },
    giveUp: (timeoutMs) => timeoutOf(state, kind, { match, timeoutMs }),
  });
}

/** A delivery that is pending is still to change, so it counts only where it is asked for. */
function isDone<T>(record: T, match: Match<T>): boolean {
  if (verdictOf(record) !== "pending") return true;
  return typeof match !== "function" && verdictOf(match) === "pending";
}

const verdictOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "verdict" in value ? value.verdict : undefined;

function matches<T>(record: T, match: Match<T>): boolean {
  return typeof match === "function" ? match(record) : holds(record, match);
}

function holds(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return Object.is(value, wanted);
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map(Object.entries(value));
  return Object.entries(wanted).every(([name, field]) => holds(fields.get(name), field));
}

/** Oldest first. */
function listRecords<K extends Kind>(state: EmulatorState, kind: K): RecordTypes[K][] {
  const listsOf: { [Each in Kind]: RecordTypes[Each][] } = { delivery: [], handshake: [], message: [] };
  for (const { deliveries, handshakes, conversations } of state.directory.values()) {
    listsOf.delivery = listsOf.delivery.concat(deliveries);
    listsOf.handshake = listsOf.handshake.concat(handshakes);
    for (const { messages } of conversations.values()) listsOf.message = listsOf.message.concat(messages);
  }
  return listsOf[kind].toSorted((a, b) => a.order - b.order);
}

function recordOf<K extends Kind>(change: Change, kind: K): RecordTypes[K] | undefined {
  const records: Partial<RecordTypes> =
    change.kind === "delivery"
      ? { delivery: change.delivery }
      : change.kind === "handshake"
        ? { handshake: change.handshake }
        : change.kind === "message"
          ? { message: change.message }
          : {};
  return records[kind];
}

/** A timer cannot be longer: it would fire at once. */
const LONGEST_MS = 2_147_483_647;

interface Next<T> {
  pick: (change: Change) => T | undefined;
  giveUp: (timeoutMs: number) => Error;
}

async function waitForNext<T>(
  { changes, outgoing }: EmulatorState,
  { timeoutMs = 10_000, signal }: WaitOptions,
  { pick, giveUp }: Next<T>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const unsubscribe = changes.subscribe((change) => {
    const record = pick(change);
    if (record !== undefined) resolve(record);
  });
  const timer = setTimeout(() => reject(giveUp(timeoutMs)), Math.min(timeoutMs, LONGEST_MS));
  const abort = (): void => reject(signal?.aborted ? signal.reason : closed());
  const ends = [outgoing.closing, ...(signal ? [signal] : [])];
  for (const end of ends) end.addEventListener("abort", abort);
  if (ends.some(({ aborted }) => aborted)) abort();
  try {
    return await promise;
  } finally {
    unsubscribe();
    clearTimeout(timer);
    for (const end of ends) end.removeEventListener("abort", abort);
  }
}

const closed = (): ApiChatError =>
  new ApiChatError("unavailable", "the emulator was closed", { operation: "check" });

/** How many records an error names. */
const TOLD = 5;

function timeoutOf<K extends Kind>(
  state: EmulatorState,
  kind: K,
  { match, timeoutMs }: { match: Match<RecordTypes[K]>; timeoutMs: number },
): ApiChatError {
  const instead = describeAbsence(state, kind, workspaceOf(match)) ?? describeSeen(listRecords(state, kind));
  return new ApiChatError("timeout", `no ${kind} that matches within ${timeoutMs} ms; ${instead}`, {
    operation: kind === "handshake" ? "handshake" : "message",
  });
}

/** Why there could be none: the workspace does not exist, or nobody is there to deliver to. */
function describeAbsence(
  { directory, settings }: EmulatorState,
  kind: Kind,
  wanted: unknown,
): string | undefined {
  const workspaces = [...directory.values()].filter(({ name }) => wanted === undefined || name === wanted);
  if (workspaces.length === 0) {
    const named = typeof wanted === "string" ? ` named ${JSON.stringify(wanted)}` : "";
    return `there is no workspace${named}${listNames([...directory.keys()])}`;
  }
  const isIdle = (workspace: WorkspaceState): boolean =>
    workspace.deliveries.length === 0 && deliverableRegistration(workspace, settings) === undefined;
  if (kind !== "delivery" || !workspaces.every(isIdle)) return undefined;
  return `no verified webhook is registered in ${workspaces.map(({ name }) => name).join(", ")}`;
}

const listNames = (names: readonly string[]): string =>
  names.length === 0 ? "" : `; there are ${names.join(", ")}`;

function workspaceOf(match: object): unknown {
  return "workspace" in match ? match.workspace : undefined;
}

function describeSeen(seen: readonly RecordTypes[Kind][]): string {
  if (seen.length === 0) return "there was none at all";
  const those = seen.length > TOLD ? `the last ${TOLD} of ${seen.length} were` : "there were";
  return `${those}: ${seen.slice(-TOLD).map(describe).join("; ")}`;
}

/** No text of a message, no address and no key. */
function describe(record: RecordTypes[Kind]): string {
  const about = `${record.id} of workspace "${record.workspace}"`;
  if ("from" in record) return `${about} from the ${record.from}`;
  return `${about} ${record.verdict}${record.reason === "" ? "" : ` (${record.reason})`}`;
}
