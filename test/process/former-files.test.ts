import { existsSync, readdirSync } from "node:fs";
import { copyFile, cp, mkdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { DeliveryRecord, WorkspaceView } from "../../dist/provider/emulator/index.js";
import { startReceiver } from "../support/receiver.ts";
import { fillVolume, mountVolume } from "../support/volume.ts";
import { makeWriter, readJsonLines, startLive } from "./cli-harness.ts";
import { KEY, makeFolder, makeHome, run, startProgram, startResponder } from "./program.ts";

const fixtures = fileURLToPath(new URL("../fixtures", import.meta.url));
/** Each folder has the files that one release wrote. */
const releases = readdirSync(fixtures).filter((name) => existsSync(join(fixtures, name, "spool.sqlite")));
/** Its files are of earlier versions than those of 0.1.0. */
const OLDEST = "2e99451";

/** A copy of a release's file, the command that keeps it, and what shows that all of it is there. */
interface Place {
  path: string;
  command: string[];
  expectAll: () => Promise<void>;
}

async function placeSpool(release: string, folder: string): Promise<Place> {
  const receiver = await startReceiver();
  const dataDir = join(folder, "data");
  const workspaces = { acme: { verificationKeys: KEY, forwardTo: receiver.url } };
  const home = { ...(await makeHome({ dataDir, workspaces })), dataDir };
  const place = ["--config", home.configFile];
  await mkdir(dataDir, { mode: 0o700 });
  await copyFile(join(fixtures, release, "spool.sqlite"), join(dataDir, "spool.sqlite"));
  const texts = (): unknown[] =>
    receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { text: string }).text);
  const expectAll = async (): Promise<void> => {
    await startResponder(home);
    await run("responder", "retry", ...place);
    await expect.poll(texts).toEqual(["later", "later too"]);
    const dead = readJsonLines((await run("responder", "dead-letters", "--json", ...place)).stdout);
    expect(dead).toMatchObject([{ workspace: "acme", failure: "HTTP 422", attempts: 1 }]);
    await run("responder", "replay", "--all", ...place);
    await expect.poll(texts).toEqual(["later", "later too", "refused"]);
  };
  return { path: join(dataDir, "spool.sqlite"), command: ["responder", ...place], expectAll };
}

async function placeEmulator(release: string, folder: string): Promise<Place> {
  const path = join(folder, "emulator.sqlite");
  await copyFile(join(fixtures, release, "emulator.sqlite"), path);
  const command = ["emulator", "--port=0", "--bot-port=0", "--json", "--quiet", "--data", path];
  const expectAll = async (): Promise<void> => {
    // Twice: the bots move to the ports of each start.
    for (let start = 0; start < 2; start++) {
      const { waitForJson, end } = startLive(command);
      const started = await waitForJson<{ url: string; botUrl: string }>(({ type }) => type === "started");
      const read = async <T>(what: string): Promise<T> =>
        (await (await fetch(`${started.url}/_emulator/${what}`)).json()) as T;
      const names = ["acme", "globex"];
      expect(await read<WorkspaceView[]>("workspaces")).toMatchObject(
        names.map((name) => ({
          name,
          botUrl: `${started.botUrl}/api/apichat/${name}`,
          registration: { webhook_url: `http://127.0.0.1:14002/${name}`, webhook_status: "verified" },
        })),
      );
      expect(await read("handshakes")).toMatchObject(
        names.map((workspace) => ({ workspace, request: {}, response: { status: 200 } })),
      );
      const deliveries = await read<DeliveryRecord[]>("deliveries?workspace=acme");
      const texts = deliveries.map(({ message }) => ("text" in message ? message.text : ""));
      expect(new Set(texts)).toEqual(new Set(["later", "later too", "refused", "taken"]));
      expect(deliveries[0]).toMatchObject({ request: {}, attempts: [{ response: { status: 200 } }] });
      expect((await read<{ id: string }[]>("conversations")).length).toBe(3);
      expect(await read("conversations/c10/messages")).toMatchObject([{ from: "contact" }, { from: "flow" }]);
      await end();
    }
  };
  return { path, command, expectAll };
}

const PLACES = { spool: placeSpool, emulator: placeEmulator };

/** The version of a file. Reads a copy, so that the log stays. */
async function versionOf(path: string): Promise<unknown> {
  const folder = join(await makeFolder(), "copy");
  await cp(dirname(path), folder, { recursive: true });
  const database = new DatabaseSync(join(folder, basename(path)));
  const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
  database.close();
  return version;
}

describe.each(Object.entries(PLACES))("a file of the %s", (kind, makePlace) => {
  test.each(releases)("of %s is opened with all that is in it", async (release) => {
    const { expectAll } = await makePlace(release, await makeFolder());
    await expectAll();
  });

  test("of an earlier release loses nothing when its conversion is killed, and the next start goes on", async () => {
    const { path, command, expectAll } = await makePlace(OLDEST, await makeFolder());
    const module = await (await makeWriter())("kill.mjs", KILL);
    const versions: unknown[] = [];
    for (const statements of KILLS[kind] ?? []) {
      const environment = { NODE_OPTIONS: `--import=${module}`, KILL_AFTER: String(statements) };
      expect(await startProgram(command, { environment }).ended).toMatchObject({ signal: "SIGKILL" });
      versions.push(await versionOf(path));
    }
    expect(versions).toEqual({ spool: [1, 1, 1, 2], emulator: [2, 2, 3, 3, 4] }[kind]);
    await expectAll();
  });

  test("of an earlier release stays as it is when its conversion finds the disk full, and opens once there is room", async () => {
    const volume = await mountVolume("tmpfs", 1);
    const { path, command, expectAll } = await makePlace(OLDEST, volume);
    const before = await readFile(path);
    const filler = await fillVolume(volume);
    // The index of the spool's log takes 32 KiB.
    await truncate(filler, (await stat(filler)).size - (kind === "spool" ? 44 : 8) * 1024);
    const { exitCode, stderr } = await startProgram(command).ended;
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(`${path}: the disk is full: make room`);
    expect(await readFile(path)).toEqual(before);
    await rm(filler);
    await expectAll();
  });

  test("of a later release is refused with the release that it needs, and stays as it is", async () => {
    const { path, command } = await makePlace(OLDEST, await makeFolder());
    const later = await makePlace(OLDEST, await makeFolder());
    const writer = new DatabaseSync(later.path);
    writer.exec(LATER);
    // As after a kill: the version is only in the log.
    for (const end of ["", "-wal"]) await copyFile(`${later.path}${end}`, `${path}${end}`);
    writer.close();
    const read = (): Promise<Buffer[]> => Promise.all(["", "-wal"].map((end) => readFile(`${path}${end}`)));
    const before = await read();
    const said = [await startProgram(command).ended];
    if (kind === "spool") said.push(await run("responder", "deliveries", "--data-dir", dirname(path)));
    for (const { exitCode, stderr } of said) {
      expect(exitCode).not.toBe(0);
      expect(stderr).toContain(`${path}: the file has version 99, pulumi-apichat `);
      expect(stderr).toContain("install pulumi-apichat 9.9.9 or newer");
    }
    expect(await read()).toEqual(before);
  });
});

test("a spool of an earlier release is not converted by a command beside the responder, which may run", async () => {
  const { path } = await placeSpool(OLDEST, await makeFolder());
  const { exitCode, stderr } = await run("responder", "deliveries", "--data-dir", dirname(path));
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining("the program that keeps it converts it at its next start"),
  ]);
  expect(await versionOf(path)).toBe(1);
});

/** After how many statements of a conversion to kill, one start after the other. */
const KILLS: Record<string, number[]> = { spool: [1, 3, 9, 10], emulator: [2, 8, 13, 5, 11] };

/** A module for `node --import`: kills the process after so many statements from the first transaction on. */
const KILL = `
import { DatabaseSync } from "node:sqlite";
const { exec } = DatabaseSync.prototype;
let left = Infinity;
DatabaseSync.prototype.exec = function (sql) {
  for (const statement of sql.split(";").filter((one) => one.trim() !== "")) {
    exec.call(this, statement);
    if (statement === "BEGIN IMMEDIATE" && left === Infinity) left = Number(process.env.KILL_AFTER);
    left -= 1;
    if (left === 0) process.kill(process.pid, "SIGKILL");
  }
};
`;

/** What a later release writes. */
const LATER = `
  PRAGMA journal_mode = WAL;
  PRAGMA user_version = 99;
  CREATE TABLE needed_release (version TEXT NOT NULL) STRICT;
  INSERT INTO needed_release VALUES ('9.9.9');
`;
