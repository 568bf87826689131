import type { DatabaseSync } from "node:sqlite";
import type { Change } from "../changes.js";
import type { EmulatorState } from "../emulator-state.js";
import { HISTORY_LIMIT } from "../history.js";
import { encode, keepConversation, keepWorkspace, type KeptKind, type KeptRecords } from "./kept-records.js";
import { openStoreFile } from "./store-file.js";
import { restoreState } from "./restore.js";

/** How many new records come between two looks at what the lists have dropped. */
const SWEEP_AFTER = 1_000;

/** Opens the file that keeps an emulator's state. Throws `invalid_config` naming it if it cannot be had. */
export function openStore(path: string): EmulatorStore {
  return new EmulatorStore(openStoreFile(path));
}

/** Keeps the state of one emulator in a file: each record is in it before the request that made it is answered. */
export class EmulatorStore {
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  #unsubscribe = (): void => {};
  #writes = 0;
  /** What is not newer was forgotten by a reset: something of it may still be under way. */
  #forgotten = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = prepareStatements(database);
  }

  /** Brings back what the file holds, and keeps every change from now on. The state knows its origins by then. */
  attach(state: EmulatorState): void {
    restoreState(this.#database, state);
    this.#writeMeta(state);
    this.#unsubscribe = state.changes.subscribe((change) => this.#keep(state, change));
  }

  /** What is changed from now on is not kept: an emulator that ends breaks off what is then done by the next. */
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
        return this.#write("workspace", change.workspace.name, 0, keepWorkspace(change.workspace));
      case "workspace-removed":
        return this.#removeWorkspace(state, change.name);
      case "conversation":
        return this.#writeOf(state, "conversation", keepConversation(change.conversation));
      case "message":
        return this.#writeOf(state, "message", change.message);
      case "handshake":
        return this.#writeOf(state, "handshake", change.handshake);
      case "delivery":
        return this.#writeOf(state, "delivery", change.delivery);
      case "request":
        return this.#writeNumbered(state, "request", "", change.request);
      case "reset":
        return this.#reset(state);
      case "faults":
      case "flow-failed":
    }
  }

  /** Not of a workspace that is gone: something of it may still be under way. */
  #writeOf<Kind extends "conversation" | "message" | "handshake" | "delivery">(
    state: EmulatorState,
    kind: Kind,
    record: KeptRecords[Kind],
  ): void {
    if (!state.directory.has(record.workspace)) return;
    const scope = "from" in record ? record.conversation : record.workspace;
    this.#writeNumbered(state, kind, scope, record);
  }

  #writeNumbered<Kind extends Exclude<KeptKind, "meta" | "workspace">>(
    state: EmulatorState,
    kind: Kind,
    scope: string,
    record: KeptRecords[Kind],
  ): void {
    if (record.order <= this.#forgotten) return;
    this.#write(kind, scope, record.order, record);
    this.#writes += 1;
    if (this.#writes % SWEEP_AFTER === 0) this.#sweep(state);
  }

  #write<Kind extends KeptKind>(kind: Kind, scope: string, order: number, record: KeptRecords[Kind]): void {
    this.#statements.write.run(kind, scope, order, encode(record));
  }

  #writeMeta({ lastOrder, origins }: EmulatorState): void {
    this.#write("meta", "", 0, { lastOrder, botOrigin: origins.bot });
  }

  #reset(state: EmulatorState): void {
    this.#forgotten = state.lastOrder;
    this.#together(() => {
      this.#statements.clear.run();
      this.#writeMeta(state);
    });
  }

  #removeWorkspace(state: EmulatorState, name: string): void {
    this.#together(() => {
      this.#statements.removeMessages.run(name);
      this.#statements.removeScope.run(name);
      this.#writeMeta(state);
    });
  }

  /** Takes out what the lists in memory have dropped. */
  #sweep(state: EmulatorState): void {
    this.#together(() => {
      this.#drop("request", "", state.requests);
      for (const { name, handshakes, deliveries, conversations } of state.directory.values()) {
        this.#drop("handshake", name, handshakes);
        this.#drop("delivery", name, deliveries);
        for (const { id, messages } of conversations.values()) this.#drop("message", id, messages);
        if (conversations.size >= HISTORY_LIMIT) this.#dropConversations(name, conversations.values());
      }
    });
  }

  #drop(kind: KeptKind, scope: string, list: readonly { order: number }[]): void {
    const [oldest] = list;
    if (oldest === undefined || list.length < HISTORY_LIMIT) return;
    this.#statements.removeOlder.run(kind, scope, oldest.order);
  }

  #dropConversations(workspace: string, left: Iterable<{ order: number }>): void {
    const known = new Set(Array.from(left, ({ order }) => order));
    for (const { ord } of this.#statements.listConversations.all(workspace)) {
      if (known.has(Number(ord))) continue;
      this.#statements.removeConversationMessages.run(`c${Number(ord)}`);
      this.#statements.removeConversation.run(workspace, ord ?? null);
    }
  }

  /** All of it or nothing is in the file. */
  #together(work: () => void): void {
    this.#database.exec("BEGIN");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
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
    removeMessages: database.prepare(
      `DELETE FROM records WHERE kind = 'message' AND scope IN
       (SELECT 'c' || ord FROM records WHERE kind = 'conversation' AND scope = ?)`,
    ),
    removeOlder: database.prepare("DELETE FROM records WHERE kind = ? AND scope = ? AND ord < ?"),
    listConversations: database.prepare("SELECT ord FROM records WHERE kind = 'conversation' AND scope = ?"),
    removeConversation: database.prepare(
      "DELETE FROM records WHERE kind = 'conversation' AND scope = ? AND ord = ?",
    ),
    removeConversationMessages: database.prepare("DELETE FROM records WHERE kind = 'message' AND scope = ?"),
  };
}
