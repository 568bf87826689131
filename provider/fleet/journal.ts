import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { ApiChatError } from "../errors/index.js";
import { writePrivateFile } from "../lib/files.js";
import { digestOf, readSeed, type DigestSeed } from "./digest.js";
import type { StackTask } from "./engine/task.js";
import { botUrlsOf } from "./index-entries.js";
import type { StackReport } from "./reports.js";
import type { ResolvedFleet } from "./resolve.js";

/** What a run notes of itself. No secret is in it, but it tells which workspaces there are. */
const journalShape = z.strictObject({
  version: z.literal(1),
  action: z.enum(["up", "rotate"]),
  rotation: z.string().optional(),
  /** Whether the run looks at the service first: the one that resumes it does too. */
  refresh: z.boolean().optional(),
  salt: z.string(),
  /** By stack. The bot URLs are for the index stack, which is written when a run ends. */
  done: z.record(
    z.string(),
    z.strictObject({ digest: z.string(), botUrls: z.record(z.string(), z.string()) }),
  ),
});

type JournalFile = z.infer<typeof journalShape>;

export interface JournalOptions {
  action: JournalFile["action"];
  /** Goes on with the run that is noted; if none is, begins one. */
  resume?: boolean;
  rotation?: string;
  /** Looks at the service first. A run that did so goes on doing so. */
  refresh?: boolean;
}

/** Notes which stacks a run has done, so that another one can go on where it was killed. */
export class Journal {
  readonly #path: string;
  readonly #content: JournalFile;
  readonly #seed: DigestSeed;
  #writing: Promise<void> = Promise.resolve();

  /** The constructor is for {@link openJournal}. */
  constructor(path: string, content: JournalFile, seed: DigestSeed) {
    this.#path = path;
    this.#content = content;
    this.#seed = seed;
  }

  /** The rotation that the run began with. */
  get rotation(): string | undefined {
    return this.#content.rotation;
  }

  /** Whether the run looks at the service first. */
  get refresh(): boolean {
    return this.#content.refresh ?? false;
  }

  /** Whether the run has done this very task: same workspaces, same options, same program. */
  isDone(task: StackTask): boolean {
    return this.#content.done[task.stack]?.digest === digestOf(task, this.#seed);
  }

  /** Notes that a task is done. */
  async note(task: StackTask, report: StackReport): Promise<void> {
    this.#content.done[task.stack] = { digest: digestOf(task, this.#seed), botUrls: botUrlsOf(report) };
    await this.write();
  }

  /** The bot URLs of a stack that is done, by workspace. */
  botUrlsOf(stack: string): Record<string, string> {
    return this.#content.done[stack]?.botUrls ?? {};
  }

  /** Writes everything, after what is being written: the file on the disk never gets older. */
  write(): Promise<void> {
    const write = (): Promise<void> => writePrivateFile(this.#path, JSON.stringify(this.#content));
    this.#writing = this.#writing.then(write);
    return this.#writing;
  }
}

/** Opens the journal of a run: the one of the run that is resumed, or a new one in its place. */
export async function openJournal(fleet: ResolvedFleet, options: JournalOptions): Promise<Journal> {
  const path = journalPathOf(fleet);
  const earlier = options.resume === true ? await readResumable(path, options) : undefined;
  const content = { ...(earlier ?? newContent(options)) };
  if (options.refresh === true) content.refresh = true;
  const journal = new Journal(path, content, await readSeed(fleet.program, content.salt));
  await mkdir(fleet.dataDir, { recursive: true });
  await journal.write();
  return journal;
}

/** Forgets the run that is noted: it is done, or its stacks are gone. */
export const removeJournal = (fleet: ResolvedFleet): Promise<void> =>
  rm(journalPathOf(fleet), { force: true });

/** The workspaces of stacks that an unfinished run has done: the index stack may not know them yet. */
export async function workspacesInJournal(fleet: ResolvedFleet): Promise<string[]> {
  const { done = {} } = (await readNoted(fleet)) ?? {};
  return Object.values(done).flatMap(({ botUrls }) => Object.keys(botUrls));
}

/** The rotation that did not end, if the last run was one. */
export async function unfinishedRotation(fleet: ResolvedFleet): Promise<string | undefined> {
  const noted = await readNoted(fleet);
  return noted?.action === "rotate" ? noted.rotation : undefined;
}

async function readNoted(fleet: ResolvedFleet): Promise<JournalFile | undefined> {
  const text = await readIfThere(journalPathOf(fleet));
  return text === undefined ? undefined : parse(text);
}

const journalPathOf = ({ dataDir }: ResolvedFleet): string => join(dataDir, "run.json");

const newContent = ({ action, rotation }: JournalOptions): JournalFile => ({
  version: 1,
  action,
  ...(rotation === undefined ? {} : { rotation }),
  salt: randomBytes(16).toString("base64url"),
  done: {},
});

async function readResumable(path: string, options: JournalOptions): Promise<JournalFile | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const content = parse(text);
  if (content === undefined)
    throw refuse(`${path} is not a run of this version; remove it and run without --resume`);
  const { action, rotation } = content;
  if (action !== options.action) {
    throw refuse(
      `the run that did not end is ${action}, not ${options.action}; go on with ${action} --resume, or run ${options.action} without --resume`,
    );
  }
  if (options.rotation !== undefined && rotation !== options.rotation) {
    throw refuse(
      `the rotation that did not end is ${JSON.stringify(rotation)}, not ${JSON.stringify(options.rotation)}; leave rotation out, or run without --resume`,
    );
  }
  return content;
}

function parse(text: string): JournalFile | undefined {
  try {
    return journalShape.safeParse(JSON.parse(text)).data;
  } catch {
    // Edited by hand: a run writes it whole or not at all.
    return undefined;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const refuse = (message: string): ApiChatError =>
  new ApiChatError("invalid_config", `resume: ${message}`, { operation: "check" });
