import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { inTransaction, openSqlite, toSqliteError, type SqliteErrorCode } from "../lib/sqlite.js";
import { keyOf } from "./conversations.js";
import { ConversationQueue } from "./deliveries/queue.js";
import { invalidOption } from "./errors.js";
import {
  HISTORY_LIMIT,
  type Change,
  type Conversation,
  type ConversationRecord,
  type DeliveryRecord,
  type EmulatorState,
  type HandshakeRecord,
  type MessageRecord,
  type RecordedRequest,
  type WorkspaceRecord,
  type WorkspaceState,
} from "./state.js";
import { newWorkspace } from "./workspaces.js";

/** What the rows of each kind hold, as JSON. */
interface Kept {
  meta: {
    /** The `order` of the last record, also of one that was forgotten: no id is given twice. */
    lastOrder: number;
    /** Where the bot host was: bots that were there move with it. */
    botOrigin: string;
  };
  workspace: WorkspaceRecord;
  conversation: Omit<ConversationRecord, "messages">;
  message: MessageRecord;
  handshake: HandshakeRecord;
  delivery: DeliveryRecord;
  request: RecordedRequest;
}

type Kind = keyof Kept;

/** How long a start waits for an emulator that is just ending, in milliseconds. */
const LOCK_TIMEOUT_MS = 500;

/** `ord` counts all records of one emulator; `scope` is whose list a record is in. */
const TABLES = `
  CREATE TABLE records (
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    ord INTEGER NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (kind, scope, ord)
  ) STRICT;
`;

/**
 * Opens the file exclusively until it is closed or the process ends in any way; creates it (mode 0600) if it is missing. Throws
 * `invalid_config`, naming the file, if it belongs to another program or release or is in use; the file is then unchanged.
 */
function openFile(path: string): DatabaseSync {
  try {
    return openSqlite(resolve(path), {
      applicationId: "apie",
      version: 3,
      tables: TABLES,
      // NORMAL: what a process has written is safe from its death, if not from that of the machine.
      pragmas: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
      lockTimeoutMs: LOCK_TIMEOUT_MS,
      exclusive: true,
    });
  } catch (error) {
    const { code, message } = toSqliteError(error);
    throw invalidOption(`data: ${message}${HINTS[code] ?? ""}`, error);
  }
}

const HINTS: Partial<Record<SqliteErrorCode, string>> = {
  busy: "; stop the emulator that has it open, or give this one a file of its own",
  foreign: "; give a file of its own",
  older: ", or another file",
  newer: ", or another file",
};

/** After this many new records, rows that the lists have dropped are deleted. */
const SWEEP_AFTER = 1_000;

/** Keeps the state of one emulator in a file: each record is in it before the request that made it is answered. */
export class EmulatorStore {
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  #unsubscribe = (): void => {};
  #writes = 0;
  /** What is not newer was forgotten by a reset: something of it may still be in progress. */
  #forgotten = 0;

  /** Opens the file. Throws `invalid_config` naming it if it cannot be had. */
  constructor(path: string) {
    this.#database = openFile(path);
    this.#statements = prepareStatements(this.#database);
  }

  /** Brings back what the file holds, and keeps every change from now on. The state knows its origins by then. */
  attach(state: EmulatorState): void {
    restoreState(this.#database, state);
    this.#writeMeta(state);
    this.#unsubscribe = state.changes.subscribe((change) => this.#keep(state, change));
  }

  /** What is changed from now on is not kept: what an emulator breaks off at its end is done by the next. */
  detach(): void {
    this.#unsubscribe();
  }

  /** May be called twice. */
  close(): void {
    this.detach();
    if (this.#database.isOpen) this.#database.close();
  }

  #keep(state: EmulatorState, change: Change): void {
    switch (change.kind) {
      case "workspace":
        return this.#write("workspace", change.workspace.name, 0, withoutRecords(change.workspace));
      case "workspace-removed":
        return inTransaction(this.#database, () => {
          this.#statements.removeMessagesOf.run(change.name);
          this.#statements.removeScope.run(change.name);
          this.#writeMeta(state);
        });
      case "conversation":
        return this.#record(state, "conversation", withoutMessages(change.conversation));
      case "conversation-dropped":
        return inTransaction(this.#database, () => {
          const { id, workspace, order } = change.conversation;
          this.#statements.removeMessages.run(id);
          this.#statements.removeConversation.run(workspace, order);
        });
      case "message":
        return this.#record(state, "message", change.message, change.message.conversation);
      case "handshake":
        return this.#record(state, "handshake", change.handshake);
      case "delivery":
        return this.#record(state, "delivery", change.delivery);
      case "request":
        return this.#record(state, "request", change.request, "");
      case "reset":
        this.#forgotten = state.lastOrder;
        return inTransaction(this.#database, () => {
          this.#statements.clear.run();
          this.#writeMeta(state);
        });
      case "faults":
      case "flow-failed":
    }
  }

  #record(
    state: EmulatorState,
    kind: Kind,
    record: { order: number; workspace: string | null },
    scope = record.workspace ?? "",
  ): void {
    // Something of a workspace that is gone may still be in progress. Requests stay.
    const isGone = kind !== "request" && !state.directory.has(record.workspace ?? "");
    if (isGone || record.order <= this.#forgotten) return;
    this.#write(kind, scope, record.order, record);
    this.#writes += 1;
    if (this.#writes % SWEEP_AFTER === 0) inTransaction(this.#database, () => this.#sweep(state));
  }

  #write(kind: Kind, scope: string, order: number, record: object): void {
    this.#statements.write.run(kind, scope, order, JSON.stringify(record));
  }

  #writeMeta({ lastOrder, origins }: EmulatorState): void {
    this.#write("meta", "", 0, { lastOrder, botOrigin: origins.bot });
  }

  /** Takes out what the lists in memory have dropped. */
  #sweep(state: EmulatorState): void {
    for (const [kind, scope, [oldest, ...rest]] of listsOf(state)) {
      if (oldest === undefined || rest.length + 1 < HISTORY_LIMIT) continue;
      this.#statements.removeOlder.run(kind, scope, oldest.order);
    }
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    write: database.prepare(
      `INSERT INTO records (kind, scope, ord, data) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, scope, ord) DO UPDATE SET data = excluded.data`,
    ),
    clear: database.prepare("DELETE FROM records WHERE kind NOT IN ('workspace', 'meta')"),
    removeScope: database.prepare(
      "DELETE FROM records WHERE kind IN ('workspace', 'conversation', 'handshake', 'delivery') AND scope = ?",
    ),
    removeMessagesOf: database.prepare(
      `DELETE FROM records WHERE kind = 'message' AND scope IN
       (SELECT 'c' || ord FROM records WHERE kind = 'conversation' AND scope = ?)`,
    ),
    removeMessages: database.prepare("DELETE FROM records WHERE kind = 'message' AND scope = ?"),
    removeConversation: database.prepare(
      "DELETE FROM records WHERE kind = 'conversation' AND scope = ? AND ord = ?",
    ),
    removeOlder: database.prepare("DELETE FROM records WHERE kind = ? AND scope = ? AND ord < ?"),
  };
}

function* listsOf(state: EmulatorState): Generator<[Kind, string, readonly { order: number }[]]> {
  yield ["request", "", state.requests];
  for (const { name, handshakes, deliveries, conversations } of state.directory.values()) {
    yield ["handshake", name, handshakes];
    yield ["delivery", name, deliveries];
    for (const { id, messages } of conversations.values()) yield ["message", id, messages];
  }
}

function withoutRecords(workspace: WorkspaceState): WorkspaceRecord {
  const {
    handshakes: _h,
    deliveries: _d,
    conversations: _c,
    requestTimes: _r,
    lastCall: _l,
    ...kept
  } = workspace;
  return kept;
}

function withoutMessages({ messages: _m, queue: _q, ...kept }: Conversation): Kept["conversation"] {
  return kept;
}

/** Brings back into an empty state what the file holds. */
function restoreState(database: DatabaseSync, state: EmulatorState): void {
  // Oldest first; workspaces in the order in which they were made. The version of the file says what is in the rows.
  const select = database.prepare("SELECT data FROM records WHERE kind = ? ORDER BY ord, rowid");
  const read = <K extends Kind>(kind: K): Kept[K][] =>
    select.all(kind).map(({ data }) => JSON.parse(String(data)) as Kept[K]);
  const [meta] = read("meta");
  if (meta === undefined) return;
  for (const kept of read("workspace")) restoreWorkspace(state, meta, kept);
  // Its workspace holds them in the order of their last message.
  const byLastMessage = read("conversation").toSorted((a, b) => Date.parse(a.lastAt) - Date.parse(b.lastAt));
  const byId = new Map<string, Conversation>();
  for (const kept of byLastMessage) {
    const conversation = { ...kept, messages: [], queue: new ConversationQueue(state.outgoing.closing) };
    byId.set(kept.id, conversation);
    state.directory.get(kept.workspace)?.conversations.set(keyOf(kept), conversation);
  }
  for (const message of read("message")) byId.get(message.conversation)?.messages.push(message);
  for (const delivery of read("delivery")) state.directory.get(delivery.workspace)?.deliveries.push(delivery);
  for (const handshake of read("handshake")) {
    state.directory.get(handshake.workspace)?.handshakes.push(handshake);
  }
  state.requests.push(...read("request"));
  const last = database.prepare("SELECT max(ord) AS last FROM records").get()?.["last"];
  state.lastOrder = Math.max(meta.lastOrder, Number(last ?? 0));
}

function restoreWorkspace(state: EmulatorState, meta: Kept["meta"], kept: WorkspaceRecord): void {
  const { flows, origins, settings } = state;
  const { name, flow } = kept;
  if (!flows.has(flow)) {
    throw invalidOption(
      `data: ${settings.data}: workspace "${name}" answers with the flow "${flow}", which is not there; give it with ` +
        `flows again, as in the run before; there are ${[...flows.keys()].join(", ")}`,
    );
  }
  // The ports may be others than before; a bot that was moved to another host stays there.
  const botBaseUrl = kept.botBaseUrl === meta.botOrigin ? origins.bot : kept.botBaseUrl;
  const workspace = { ...newWorkspace(kept, { botBaseUrl, flow }), ...kept, botBaseUrl };
  state.directory.set(name, workspace);
}
