import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { openSqlite, warningOfSqlite, type SqliteOptions } from "../../../provider/lib/sqlite.js";

const folder = mkdtempSync(join(tmpdir(), "apichat-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FORMAT = {
  applicationId: "test",
  version: 2,
  tables: "CREATE TABLE notes (text TEXT) STRICT",
  migrations: [],
  pragmas: "PRAGMA journal_mode = WAL",
  lockTimeoutMs: 50,
} satisfies SqliteOptions;

const write = (path: string, sql: string): void => {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
};

test.each([
  ["22.19.0", "3.50.4", "Node 22.19.0 has SQLite 3.50.4"],
  ["22.23.3", "3.51.3", undefined],
  ["26.10.0", "3.53.4", undefined],
])("of Node %s with SQLite %s it warns: %s", (node, sqlite, warning) => {
  expect(warningOfSqlite({ node, sqlite })?.split(",")[0]).toBe(warning);
});

test("makes a file for its owner only, and opens it again", () => {
  const path = join(folder, "new.sqlite");
  openSqlite(path, FORMAT).close();
  const database = openSqlite(path, { ...FORMAT, create: false });
  database.exec("INSERT INTO notes VALUES ('kept')");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(database.prepare("SELECT text FROM notes").all()).toEqual([{ text: "kept" }]);
  database.close();
});

test.each([
  ["newer", (path: string) => write(path, "PRAGMA user_version = 3")],
  ["older", (path: string) => write(path, "PRAGMA user_version = 1")],
  ["foreign", (path: string) => write(path, "PRAGMA application_id = 7")],
  ["foreign", (path: string) => writeFileSync(path, "no database ".repeat(1_000))],
])("refuses a file that is %s, and leaves it as it is", (code, change) => {
  const path = join(folder, `${code}-${Math.random()}.sqlite`);
  openSqlite(path, { ...FORMAT, pragmas: "" }).close();
  change(path);
  const before = readFileSync(path);
  expect(() => openSqlite(path, FORMAT)).toThrow(expect.objectContaining({ name: "SqliteError", code }));
  expect(readFileSync(path)).toEqual(before);
});
