import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openSqlite, type SqliteOptions } from "../../../provider/lib/sqlite.js";
import { makeFolder } from "../../support/folder.ts";

const folder = await makeFolder();

const FORMAT = {
  applicationId: "test",
  version: 2,
  tables: "CREATE TABLE notes (text TEXT) STRICT",
  migrations: [],
  pragmas: "PRAGMA journal_mode = WAL",
  lockTimeoutMs: 50,
} satisfies SqliteOptions;

/** An invented version 4 of the format, which also stores the owner and the length of each note. */
const LATER = {
  ...FORMAT,
  version: 4,
  tables: "CREATE TABLE notes (text TEXT, owner TEXT, length INTEGER) STRICT",
  migrations: [
    "ALTER TABLE notes ADD COLUMN owner TEXT; UPDATE notes SET owner = 'nobody'",
    "ALTER TABLE notes ADD COLUMN length INTEGER; UPDATE notes SET length = length(text)",
  ],
} satisfies SqliteOptions;

const write = (path: string, sql: string): void => {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
};

test("creates a file that only its owner can access, and reopens it", () => {
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
])("rejects a %s file without changing it", (code, change) => {
  const path = join(folder, `${code}-${Math.random()}.sqlite`);
  openSqlite(path, { ...FORMAT, pragmas: "" }).close();
  change(path);
  const before = readFileSync(path);
  expect(() => openSqlite(path, FORMAT)).toThrow(expect.objectContaining({ name: "SqliteError", code }));
  expect(readFileSync(path)).toEqual(before);
});

const makeOlder = (name: string): string => {
  const path = join(folder, `${name}.sqlite`);
  openSqlite(path, FORMAT).close();
  write(path, "INSERT INTO notes VALUES ('kept')");
  return path;
};
const versionOf = (path: string): unknown => {
  const database = new DatabaseSync(path);
  const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
  database.close();
  return version;
};

test("migrates an older file step by step, and resumes after a failed step", () => {
  const path = makeOlder("older");
  const [first = "", second = ""] = LATER.migrations;
  const broken = { ...LATER, migrations: [first, `${second}; INSERT INTO missing VALUES (1)`] };
  expect(() => openSqlite(path, broken)).toThrow("no such table: missing");
  expect(versionOf(path)).toBe(3);
  const database = openSqlite(path, LATER);
  expect(database.prepare("SELECT * FROM notes").all()).toEqual([
    { text: "kept", owner: "nobody", length: 4 },
  ]);
  database.close();
  expect(versionOf(path)).toBe(4);
});

test("does not migrate without `create`, or if no migration starts at the file's version", () => {
  const path = makeOlder("beside");
  const open = (options: SqliteOptions) => () => openSqlite(path, options);
  expect(open({ ...LATER, create: false })).toThrow(
    "the program that owns the file will convert it when it next starts",
  );
  expect(open({ ...LATER, migrations: [] })).toThrow("convert it first with an intermediate release");
  expect(versionOf(path)).toBe(2);
});

test("names the release that a newer file needs, and changes neither the file nor its log", () => {
  const writer = openSqlite(makeOlder("newer"), FORMAT);
  writer.exec("PRAGMA user_version = 99; UPDATE needed_release SET version = '9.9.9'");
  // Copies the file while it is open, as a kill leaves it: only the write-ahead log has the new version.
  const path = join(folder, "killed.sqlite");
  for (const end of ["", "-wal"]) copyFileSync(join(folder, `newer.sqlite${end}`), `${path}${end}`);
  writer.close();
  const read = (): Buffer[] => ["", "-wal"].map((end) => readFileSync(`${path}${end}`));
  const before = read();
  expect(() => openSqlite(path, FORMAT)).toThrow(
    /killed\.sqlite: the file has version 99, .* opens version 2: install pulumi-apichat 9\.9\.9 or newer/,
  );
  expect(read()).toEqual(before);
});
