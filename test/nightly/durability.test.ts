import { spawnSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createDelivery } from "pulumi-apichat/responder";
import { expect, test } from "vitest";
import { KEY, makeHome, startResponder } from "../process/program.ts";
import { startReceiver } from "../support/receiver.ts";
import { hasEnded, readTrace, straceTo, type SystemCall } from "../support/strace.ts";

const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;
const [SENDERS, DELIVERIES] = [16, 12];
const MARKER = /marker-(\d+)-/g;
const markersIn = (data: Buffer): string[] =>
  [...data.toString("latin1").matchAll(MARKER)].map(([, marker]) => marker ?? "");

/** Defects that this test must find, as replacements in `dist/`. */
const MUTANTS = {
  "answers before the commit": ['return this.ask("accept"', 'return void this.ask("accept"'],
  "does not wait for the disk": ["synchronous = FULL", "synchronous = OFF"],
} as const;

/** Traces a responder that accepts deliveries, forwards half of them, and is killed. */
async function trace(mutant?: readonly [text: string, replacement: string]) {
  const receiver = await startReceiver();
  const workspaces = {
    acme: { verificationKeys: KEY, forwardTo: receiver.url },
    kept: { verificationKeys: KEY },
  };
  const home = await makeHome({ workspaces });
  const [file, hook] = [join(home.folder, "trace"), join(home.folder, "hook.mjs")];
  await writeFile(
    hook,
    `import { registerHooks } from "node:module";
    registerHooks({ load: (url, context, next) => {
      const loaded = next(url, context);
      if (!url.includes("/server/spool/")) return loaded;
      const [original, replacement] = ${JSON.stringify(mutant ?? ["", ""])};
      return { ...loaded, source: String(loaded.source).replace(original, replacement) };
    } });`,
  );
  const environment = { NODE_OPTIONS: `--import=${hook}` };
  const { child, ended, origin } = await startResponder(home, [], { environment, under: straceTo(file) });
  const send = async (sender: number): Promise<void> => {
    for (let number = 0; number < DELIVERIES; number++) {
      const text = `marker-${sender * DELIVERIES + number}-${"x".repeat(200 + 50 * sender)}`;
      const options = { url: `${origin}/${number % 2 ? "acme" : "kept"}`, verificationKey: KEY };
      const message = { conv_id: sender, text };
      expect((await fetch(await createDelivery("text", { ...options, message }))).status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, (_, sender) => send(sender)));
  // After this response, the trace contains the end of each earlier call.
  await fetch(`${origin}/healthz`);
  child.kill("SIGKILL");
  await ended;
  await expect.poll(() => hasEnded(file)).toBe(true);
  return { calls: await readTrace(file), folder: home.folder };
}

function note(places: Map<string, number>, markers: Iterable<string>, place: number): void {
  for (const marker of markers) if (!places.has(marker)) places.set(marker, place);
}

/** The first places in the trace at which each delivery was acknowledged, forwarded and committed. */
function placesOf(calls: readonly SystemCall[]) {
  const [acknowledged, forwarded, committed] = [0, 0, 0].map(() => new Map<string, number>()) as [
    Map<string, number>,
    Map<string, number>,
    Map<string, number>,
  ];
  const asked = new Map<string, string>();
  let isCommit = false;
  const written = new Set<string>();
  for (const { name, path, data, begun, ended } of calls) {
    const markers = markersIn(data);
    if (path.startsWith("socket:") && name === "read") for (const marker of markers) asked.set(path, marker);
    else if (path.startsWith("socket:")) {
      note(forwarded, markers, begun);
      const marker = asked.get(path);
      if (marker !== undefined && data.toString("latin1").startsWith("HTTP/1.1 200"))
        note(acknowledged, [marker], begun);
    } else if (path.endsWith("-wal") && name === "pwrite64") {
      // A frame is a header and a page; the header contains the file's size if the frame ends a transaction.
      if (data.length === 24) isCommit = data.readUInt32BE(4) > 0;
      for (const marker of markers) written.add(marker);
      if (data.length <= 32 || !isCommit) continue;
      note(committed, written, ended);
      written.clear();
    }
  }
  return { acknowledged, forwarded, committed };
}

const isSync = ({ name, result }: SystemCall): boolean => /^f(?:data)?sync$/.test(name) && result === 0;

/** The deliveries that were acknowledged before a sync of their commit had ended. */
function findEarly(calls: readonly SystemCall[]): string[] {
  const { acknowledged, committed } = placesOf(calls);
  const syncs = calls.filter((call) => isSync(call) && call.path.endsWith("-wal"));
  return [...acknowledged].flatMap(([marker, place]) => {
    const from = committed.get(marker) ?? Infinity;
    return syncs.some(({ begun, ended }) => begun > from && ended < place) ? [] : [marker];
  });
}

const SECTOR = 512;
/** Decides which unsynced sectors survive a power failure. */
const LEFT = { nothing: () => false, all: () => true, parts: (sector: number) => (sector * 7919) % 5 < 2 };

/** Returns a file as a power failure at this place in the trace leaves it. */
function leftOf(
  calls: readonly SystemCall[],
  path: string,
  place: number,
  isLeft: (sector: number) => boolean,
): Buffer {
  const own = calls.filter((call) => call.path === path && call.begun < place);
  const synced = Math.max(
    -1,
    ...own.filter((call) => isSync(call) && call.ended < place).map(({ begun }) => begun),
  );
  const file = Buffer.alloc(Math.max(0, ...own.map(({ offset, data }) => (offset || 0) + data.length)));
  let length = 0;
  for (const { name, data, offset, ended } of own) {
    const isSafe = ended < synced;
    if (name === "ftruncate" && (isSafe || isLeft(ended))) {
      file.fill(0, offset);
      length = offset;
    }
    if (name !== "pwrite64") continue;
    for (let at = 0; at < data.length; at += SECTOR) {
      if (!isSafe && !isLeft(ended + at / SECTOR)) continue;
      length = Math.max(length, offset + at + data.copy(file, offset + at, at, at + SECTOR));
    }
  }
  return file.subarray(0, length);
}

/** Returns the deliveries in a file, or undefined if it is damaged. */
function readLeft(file: string): Set<string> | undefined {
  const database = new DatabaseSync(file);
  try {
    const [sound] = database.prepare("PRAGMA integrity_check").all();
    if (sound?.["integrity_check"] !== "ok") return undefined;
    const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'deliveries'").get();
    const rows = hasTable ? database.prepare("SELECT body FROM deliveries").all() : [];
    return new Set(rows.flatMap(({ body }) => markersIn(Buffer.from(body as Uint8Array))));
  } catch (error) {
    // SQLITE_CORRUPT.
    if ((error as { errcode?: number }).errcode !== 11) throw error;
    return undefined;
  } finally {
    database.close();
  }
}

/** Returns what power failures between the deliveries break. */
async function findLost(calls: readonly SystemCall[], folder: string): Promise<string[]> {
  const { acknowledged, forwarded } = placesOf(calls);
  const path = calls.find((call) => call.path.endsWith("spool.sqlite"))?.path ?? "";
  const copy = join(folder, "left");
  const wrong: string[] = [];
  for (const [marker, place] of [...acknowledged].filter((_, index) => index % 4 === 0)) {
    for (const [what, isLeft] of Object.entries(LEFT)) {
      await rm(copy, { recursive: true, force: true });
      await mkdir(copy);
      const file = join(copy, "spool.sqlite");
      for (const ending of ["", "-wal"])
        await writeFile(file + ending, leftOf(calls, path + ending, place, isLeft));
      const there = readLeft(file);
      const isLost = ([one, at]: [string, number]): boolean =>
        at <= place && !there?.has(one) && (forwarded.get(one) ?? Infinity) > place;
      const lost = [...acknowledged].filter(isLost).map(([one]) => one);
      if (there === undefined || lost.length > 0)
        wrong.push(
          `with ${what} of what was not synced when ${marker} was acknowledged: lost ${lost.join()}`,
        );
    }
  }
  return wrong;
}

const sound = HAS_STRACE ? [["a responder", undefined] as const] : [];

test(`durability is ${HAS_STRACE ? "tested" : "NOT tested: there is no strace on PATH"}`, () =>
  expect(sound).toHaveLength(HAS_STRACE ? 1 : 0));

test.each(sound)("%s responds with 200 only after a sync, so a power failure loses nothing", async () => {
  const { calls, folder } = await trace();
  const { acknowledged, forwarded } = placesOf(calls);
  expect([acknowledged.size, forwarded.size > 0]).toEqual([SENDERS * DELIVERIES, true]);
  expect(findEarly(calls)).toEqual([]);
  expect(await findLost(calls, folder)).toEqual([]);
});

test.each(HAS_STRACE ? Object.entries(MUTANTS) : [])("detects a responder that %s", async (_what, mutant) => {
  const { calls, folder } = await trace(mutant);
  expect(placesOf(calls).acknowledged.size).toBe(SENDERS * DELIVERIES);
  expect(findEarly(calls)).not.toEqual([]);
  expect(await findLost(calls, folder)).not.toEqual([]);
});
