import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { inTransaction, openSqlite, toSqliteError, type SqliteErrorCode } from "../lib/sqlite.js";
import { conversationKeyOf } from "./conversations.js";
import { ConversationQueue } from "./deliveries/queue.js";
import { invalidOption } from "./usage-errors.js";
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

/** The rows of each kind, as JSON. */
interface Kept {
  meta: {
    /** The `order` of the last record, including removed ones: no id is used twice. */
    lastOrder: number;
    /** The previous origin of the bot host. Bots with this origin move with it. */
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

/** How long a start waits for an emulator that is just closing, in milliseconds. */
const LOCK_TIMEOUT_MS = 500;

/** `ord` is the record's `order`. `conversation` is set for conversations and their messages. */
const TABLES = `
  CREATE TABLE records (
    kind TEXT NOT NULL,
    workspace TEXT NOT NULL,
    conversation TEXT NOT NULL,
    ord INTEGER NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (workspace, conversation, kind, ord)
  ) STRICT;
`;

/** Deletes the records that the lists in memory have dropped. */
const SWEEP = `
  DELETE FROM records WHERE rowid IN (
    SELECT rowid FROM (
      SELECT rowid, row_number() OVER (PARTITION BY workspace, conversation, kind ORDER BY ord DESC) AS place
      FROM records WHERE kind IN ('request', 'handshake', 'delivery', 'message')
    ) WHERE place > ${HISTORY_LIMIT}
  );
`;

/** How many records are written between two sweeps. */
const SWEEP_AFTER = 1_000;

/**
 * Opens the file exclusively until it is closed or the process ends; creates it (mode 0600) if it is missing. Throws
 * `invalid_config`, and leaves the file unchanged, if it belongs to a different program or later release or is in use.
 */
function openFile(path: string): DatabaseSync {
  try {
    return openSqlite(resolve(path), {
      applicationId: "apie",
      version: 1,
      tables: TABLES,
      migrations: [],
      // NORMAL: written records survive the death of the process, but perhaps not of the machine.
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
  busy: "; stop the emulator that has it open, or use a separate file for this one",
  foreign: "; use a separate file",
};

/** Keeps the state of one emulator in a file. A record is written before the response to its request. */
export class EmulatorStore {
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  #unsubscribe = (): void => {};
  #writes = 0;
  /** Records up to this order were removed by a reset, but may still be in progress. */
  #forgotten = 0;

  /** Opens the file. Throws `invalid_config` if it cannot. */
  constructor(path: string) {
    this.#database = openFile(path);
    this.#statements = prepareStatements(this.#database);
  }

  /** Restores the content of the file, and keeps every change from now on. The state must know its origins. */
  attach(state: EmulatorState): void {
    restoreState(this.#database, state);
    // Bots have moved with the bot host.
    for (const workspace of state.directory.values()) this.#keep(state, { type: "workspace", workspace });
    this.#writeMeta(state);
    this.#unsubscribe = state.changes.subscribe((change) => this.#keep(state, change));
  }

  /** Stops keeping changes: the next emulator resumes what is interrupted from now on. */
  detach(): void {
    this.#unsubscribe();
  }

  /** May be called twice. */
  close(): void {
    this.detach();
    if (this.#database.isOpen) this.#database.close();
  }

  #keep(state: EmulatorState, change: Change): void {
    switch (change.type) {
      case "workspace":
        return this.#write("workspace", withoutRecords(change.workspace), {
          workspace: change.workspace.name,
        });
      case "workspace-removed":
        return this.#remove(state, () => this.#statements.removeWorkspace.run(change.name));
      case "conversation":
        return this.#record(state, change.type, withoutMessages(change.conversation), change.conversation.id);
      case "conversation-dropped":
        this.#statements.removeConversation.run(change.conversation.workspace, change.conversation.id);
        return;
      case "message":
        return this.#record(state, "message", change.message, change.message.conversation);
      case "handshake":
        return this.#record(state, "handshake", change.handshake);
      case "delivery":
        return this.#record(state, "delivery", change.delivery);
      case "request":
        return this.#record(state, "request", change.request);
      case "reset":
        this.#forgotten = state.lastOrder;
        return this.#remove(state, () => this.#statements.clear.run());
      case "faults":
      case "flow-failed":
    }
  }

  /** Removes records, but keeps their numbers used. */
  #remove(state: EmulatorState, remove: () => unknown): void {
    inTransaction(this.#database, () => {
      remove();
      this.#writeMeta(state);
    });
  }

  #record(
    { directory }: EmulatorState,
    kind: Kind,
    record: { order: number; workspace: string | null },
    conversation = "",
  ): void {
    const { order } = record;
    const workspace = kind === "request" ? "" : (record.workspace ?? "");
    // Something of a removed workspace may still be in progress.
    const isGone = workspace !== "" && !directory.has(workspace);
    if (isGone || order <= this.#forgotten) return;
    this.#write(kind, record, { workspace, conversation, order });
    this.#writes += 1;
    if (this.#writes % SWEEP_AFTER === 0) this.#database.exec(SWEEP);
  }

  #write(kind: Kind, record: object, { workspace = "", conversation = "", order = 0 } = {}): void {
    this.#statements.write.run(kind, workspace, conversation, order, JSON.stringify(record));
  }

  #writeMeta({ lastOrder, origins }: EmulatorState): void {
    this.#write("meta", { lastOrder, botOrigin: origins.bot });
  }
}

const prepareStatements = (database: DatabaseSync) => ({
  write: database.prepare(
    `INSERT INTO records (kind, workspace, conversation, ord, data) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (workspace, conversation, kind, ord) DO UPDATE SET data = excluded.data`,
  ),
  clear: database.prepare("DELETE FROM records WHERE kind NOT IN ('workspace', 'meta')"),
  removeWorkspace: database.prepare("DELETE FROM records WHERE workspace = ?"),
  removeConversation: database.prepare("DELETE FROM records WHERE workspace = ? AND conversation = ?"),
});

function withoutRecords(workspace: WorkspaceState): WorkspaceRecord {
  const { handshakes: _h, deliveries: _d, conversations: _c, requestTimes: _r, ...kept } = workspace;
  return kept;
}

function withoutMessages({ messages: _m, queue: _q, ...kept }: Conversation): Kept["conversation"] {
  return kept;
}

/** Restores the content of the file into an empty state. */
function restoreState(database: DatabaseSync, state: EmulatorState): void {
  const { directory } = state;
  // Oldest first; workspaces in the order of creation. The version of the file vouches for the shape of its rows.
  const select = database.prepare("SELECT data FROM records WHERE kind = ? ORDER BY ord, rowid");
  const read = <K extends Kind>(kind: K): Kept[K][] =>
    select.all(kind).map(({ data }) => JSON.parse(String(data)) as Kept[K]);
  const [meta] = read("meta");
  if (meta === undefined) return;
  for (const kept of read("workspace")) restoreWorkspace(state, meta, kept);
  // The map has them in the order of use.
  const byUse = read("conversation").toSorted((a, b) => Date.parse(a.lastAt) - Date.parse(b.lastAt));
  const messages = Map.groupBy(read("message"), ({ conversation }) => conversation);
  for (const kept of byUse) {
    const queue = new ConversationQueue(state.outgoing.closing);
    const conversation = { ...kept, messages: messages.get(kept.id) ?? [], queue };
    directory.get(kept.workspace)?.conversations.set(conversationKeyOf(kept), conversation);
  }
  for (const delivery of read("delivery")) directory.get(delivery.workspace)?.deliveries.push(delivery);
  for (const handshake of read("handshake")) directory.get(handshake.workspace)?.handshakes.push(handshake);
  state.requests.push(...read("request"));
  const last = database.prepare("SELECT max(ord) AS last FROM records").get()?.["last"];
  state.lastOrder = Math.max(meta.lastOrder, Number(last ?? 0));
}

function restoreWorkspace(state: EmulatorState, meta: Kept["meta"], kept: WorkspaceRecord): void {
  const { flows, origins, settings } = state;
  const { name, flow } = kept;
  if (!flows.has(flow)) {
    throw invalidOption(
      `data: ${settings.data}: workspace "${name}" uses the flow "${flow}", which does not exist; ` +
        "pass it in flows, as in " +
        `the previous run; there are ${[...flows.keys()].join(", ")}`,
    );
  }
  // The ports may differ from the previous run's. A bot on a different host stays there.
  const botBaseUrl = kept.botBaseUrl === meta.botOrigin ? origins.bot : kept.botBaseUrl;
  state.directory.set(name, { ...newWorkspace(kept, { botBaseUrl, flow }), ...kept, botBaseUrl });
}
