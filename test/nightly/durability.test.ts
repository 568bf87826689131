import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { KEY, makeHome, startResponder } from "../process/program.ts";
import { deliverTo } from "../support/responder.ts";

const HAS_STRACE = spawnSync("strace", ["-V"]).status === 0;
const [SENDERS, DELIVERIES] = [16, 12];
const MARKER = /marker-(\d+)-/g;
const markersIn = (data: Buffer): string[] =>
  [...data.toString("latin1").matchAll(MARKER)].map(([, marker]) => marker ?? "");

/** Defects that this test must find. Each replaces the first text, which is in `dist/`, by the second. */
const MUTANTS = {
  "answers before the commit": ['return this.ask("accept"', 'return void this.ask("accept"'],
  "does not wait for the disk": ["synchronous = FULL", "synchronous = OFF"],
} as const;

/** A system call. `begun` and `ended` are the lines of the trace in which it begins and ends. */
interface SystemCall {
  name: string;
  /** The file or socket. */
  path: string;
  data: Buffer;
  result: number;
  begun: number;
  ended: number;
}

/** The start of a command line that runs a program, and traces the reads, writes and syncs of all its threads. */
const straceTo = (file: string): string[] => {
  const calls = "read,write,writev,pwrite64,fsync,fdatasync";
  return ["strace", "-D", "-f", "-y", "-xx", "-s", "16384", "-e", `trace=${calls}`, "-o", file];
};

/** Whether the traced program has ended: then the file contains the whole trace. */
const hasEnded = async (file: string): Promise<boolean> =>
  /\+\+\+ (?:killed by|exited with) .* \+\+\+\n$/.test(await readFile(file, "latin1"));

/** Reads the calls of a trace, in the order in which they ended. */
async function readTrace(file: string): Promise<SystemCall[]> {
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, { text: string; begun: number }>();
  for (const [line, text] of (await readFile(file, "latin1")).split("\n").entries()) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(text) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const { text: start = "", begun = line } = (resumed && unfinished.get(thread)) ?? {};
    if (rest.endsWith("<unfinished ...>")) unfinished.set(thread, { text: rest.slice(0, -16), begun });
    else {
      const call = parseCall(start + (resumed?.[1] ?? rest));
      if (call) calls.push({ ...call, begun, ended: line });
    }
  }
  return calls;
}

const fromHex = (text: string): Buffer => Buffer.from(text.replaceAll(String.raw`\x`, ""), "hex");

function parseCall(text: string): Omit<SystemCall, "begun" | "ended"> | undefined {
  const [, name, path, parameters, result] = /^(\w+)\(\d+<([^>]*)>(.*)\) += (-?\d+)/.exec(text) ?? [];
  if (name === undefined || path === undefined || parameters === undefined) return undefined;
  const data = Buffer.concat([...parameters.matchAll(/"([^"]*)"/g)].map(([, hex]) => fromHex(hex ?? "")));
  return { name, path: fromHex(path).toString(), data, result: Number(result) };
}

/** Returns the trace of a responder that accepts deliveries and is killed. */
async function trace(mutant?: readonly [text: string, replacement: string]): Promise<SystemCall[]> {
  const home = await makeHome();
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
      expect(await deliverTo(`${origin}/acme`, KEY, { conv_id: sender, text })).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, (_, sender) => send(sender)));
  // Once this has a response, every earlier system call has ended, and the trace contains its end.
  await fetch(`${origin}/healthz`);
  child.kill("SIGKILL");
  await ended;
  await expect.poll(() => hasEnded(file)).toBe(true);
  return readTrace(file);
}

function note(places: Map<string, number>, markers: Iterable<string>, place: number): void {
  for (const marker of markers) if (!places.has(marker)) places.set(marker, place);
}

/** Returns at which line of the trace each delivery was first acknowledged, and at which it was first committed. */
function placesOf(calls: readonly SystemCall[]) {
  const acknowledged = new Map<string, number>();
  const committed = new Map<string, number>();
  const asked = new Map<string, string>();
  let isCommit = false;
  const written = new Set<string>();
  for (const { name, path, data, begun, ended } of calls) {
    const markers = markersIn(data);
    if (path.startsWith("socket:") && name === "read") for (const marker of markers) asked.set(path, marker);
    else if (path.startsWith("socket:")) {
      const marker = asked.get(path);
      if (marker !== undefined && data.toString("latin1").startsWith("HTTP/1.1 200"))
        note(acknowledged, [marker], begun);
    } else if (path.endsWith("-wal") && name === "pwrite64") {
      // A frame of the WAL is a header and a page. Only the last frame of a transaction has a file size in its header.
      if (data.length === 24) isCommit = data.readUInt32BE(4) > 0;
      for (const marker of markers) written.add(marker);
      if (data.length <= 32 || !isCommit) continue;
      note(committed, written, ended);
      written.clear();
    }
  }
  return { acknowledged, committed };
}

const isSync = ({ name, result }: SystemCall): boolean => /^f(?:data)?sync$/.test(name) && result === 0;

/** The deliveries that were acknowledged before their commit was synced to the disk. */
function findEarly(calls: readonly SystemCall[]): string[] {
  const { acknowledged, committed } = placesOf(calls);
  const syncs = calls.filter((call) => isSync(call) && call.path.endsWith("-wal"));
  return [...acknowledged].flatMap(([marker, place]) => {
    const from = committed.get(marker) ?? Infinity;
    return syncs.some(({ begun, ended }) => begun > from && ended < place) ? [] : [marker];
  });
}

describe.runIf(HAS_STRACE)(
  `the durability of a responder${HAS_STRACE ? "" : ": NOT TESTED, because there is no strace on PATH"}`,
  () => {
    test("the response 200 is sent only after a sync, so a power failure loses nothing", async () => {
      const calls = await trace();
      expect(placesOf(calls).acknowledged.size).toBe(SENDERS * DELIVERIES);
      expect(findEarly(calls)).toEqual([]);
    });

    test.each(Object.entries(MUTANTS))("a responder that %s is detected", async (_what, mutant) => {
      const calls = await trace(mutant);
      expect(placesOf(calls).acknowledged.size).toBe(SENDERS * DELIVERIES);
      expect(findEarly(calls)).not.toEqual([]);
    });
  },
);
