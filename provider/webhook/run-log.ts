import { createHash } from "node:crypto";
import { constants, lstatSync, openSync, readSync, writeSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { makeFolders, removeStale, stateFolder } from "../lib/files.js";
import { type Fact, RunFacts } from "./facts.js";

export interface RunLog {
  append(fact: Fact): void;
  read(): RunFacts;
  /** Why the run's other provider processes do not see these facts; undefined if they do. */
  readonly problem?: string | undefined;
}

export function memoryLog(problem?: string): RunLog {
  const facts = new RunFacts();
  return { append: (fact) => facts.add(fact), read: () => facts, problem };
}

/** The longest time between two lines that a process adds, in milliseconds. */
const BEAT_MS = 2_000;

/** Lines before a gap longer than this, in milliseconds, are from an earlier engine at the same address. */
const GAP_MS = 30_000;

/** `beat`: the run is still alive. `at` is the machine's monotonic clock in milliseconds. */
type Line = { at: number } & (Fact | { fact: "beat" });

/**
 * Opens the log that all provider processes of one engine share. Its file is named after the engine's
 * address, which each process receives. Each fact is one line, added with one write. Nothing is locked, and
 * nothing is removed when the run ends: a gap in time shows where the facts of an earlier engine end. Without
 * an engine, or if the file cannot be created, the log is private to this process.
 */
export function openRunLog(engineAddress: string | undefined, folder = join(stateFolder(), "runs")): RunLog {
  if (engineAddress === undefined) return memoryLog();
  // Without HOME, the folder would be inside the program's folder.
  if (!isAbsolute(folder)) return memoryLog("HOME is not set");
  try {
    makeFolders(folder);
    requirePrivate(folder);
    removeStale(folder);
    const name = createHash("sha256").update(engineAddress).digest("hex").slice(0, 32);
    return new SharedLog(join(folder, `${name}.jsonl`));
  } catch (error) {
    return memoryLog((error as Error).message);
  }
}

class SharedLog implements RunLog {
  readonly #path: string;
  readonly #file: number;
  readonly #own: Fact[] = [];
  #facts = new RunFacts();
  #lastAt: number | undefined;
  #offset = 0;
  /** The start of a line whose end is not written yet. */
  #rest = Buffer.alloc(0);

  constructor(path: string) {
    // On Windows, O_NOFOLLOW is undefined, and the "|" below reads that as 0.
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
    this.#path = path;
    this.#file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
    // Written before the first read, so that the gap before this line shows how old the earlier lines are.
    this.#write({ at: now(), fact: "beat" });
    setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  append(fact: Fact): void {
    this.#own.push(fact);
    this.#write({ at: now(), ...fact });
  }

  /** Throws a file system error if the disk is full: a run that cannot share its facts must not continue. */
  #write(line: Line): void {
    const text = Buffer.from(`${JSON.stringify(line)}\n`);
    if (writeSync(this.#file, text) < text.length) throw new Error("the disk is full");
  }

  #beat(): void {
    try {
      this.#write({ at: now(), fact: "beat" });
    } catch {
      // Ignored here: writing the next fact will fail too, and its operation then reports the failure.
    }
  }

  read(): RunFacts {
    const chunk = Buffer.alloc(64 * 1024);
    const chunks = [this.#rest];
    for (let length; (length = readSync(this.#file, chunk, 0, chunk.length, this.#offset)) > 0;) {
      this.#offset += length;
      chunks.push(Buffer.from(chunk.subarray(0, length)));
    }
    const bytes = Buffer.concat(chunks);
    const end = bytes.lastIndexOf("\n") + 1;
    this.#rest = bytes.subarray(end);
    for (const line of bytes.toString("utf8", 0, end).split("\n").slice(0, -1)) this.#take(this.#parse(line));
    return this.#facts;
  }

  /** Throws if a line was cut off, for example by a full disk, because its fact is unknown. */
  #parse(line: string): Line {
    try {
      return JSON.parse(line) as Line;
    } catch {
      throw new Error(
        `${this.#path} has a line that was cut off, probably by a full disk; free space, then run pulumi up again`,
      );
    }
  }

  #take({ at, ...line }: Line): void {
    // After a gap, the earlier lines are an earlier engine's: keep only the facts that this process added.
    if (Math.abs(at - (this.#lastAt ?? at)) > GAP_MS) this.#facts = new RunFacts(this.#own);
    this.#lastAt = at;
    if (line.fact !== "beat") this.#facts.add(line);
  }
}

const now = (): number => Number(process.hrtime.bigint() / 1_000_000n);

function requirePrivate(folder: string): void {
  const { mode, uid } = lstatSync(folder);
  // On Windows, a folder has neither owner nor mode.
  if (process.getuid === undefined) return;
  if (uid !== process.getuid() || (mode & 0o077) !== 0)
    throw new Error(`${folder} is open to other users: chmod 700 ${folder}`);
}
