import { Client } from "undici";
import { ApiChatError, type ApiChatErrorCode, type Failure, type Hint } from "../errors/index.js";
import { sleep } from "../lib/abort.js";
import { postOnce, PostError } from "../lib/post.js";
import {
  CONTROL_HOST,
  INSTANCE_HEADER,
  isHeld,
  nameOf,
  readInstance,
  takeDataDir,
  type Instance,
} from "./data-dir.js";
import type { DeadLetterChoice } from "./spool/file.js";

/** Time limits, in milliseconds. */
export const CONTROL_LIMITS = {
  /** For a response of the control interface, and for the start of a process until it responds. */
  answerMs: 10_000,
  /** For a reload of every workspace, or a change to every kept delivery. */
  changeMs: 240_000,
};

/** How often to check whether a process holds a folder and responds, in milliseconds. */
export const INSPECT_EVERY_MS = 50;

/** Returns undefined if no process holds the folder. Throws `timeout` if one holds it but does not respond. */
export async function findRunning(dataDir: string): Promise<Instance | undefined> {
  const deadline = performance.now() + CONTROL_LIMITS.answerMs;
  for (;;) {
    if (!isHeld(dataDir)) return undefined;
    const announced = await readInstance(dataDir);
    if (announced && (await isResponding(announced))) return announced;
    if (performance.now() >= deadline) throw notAnswering(dataDir, announced);
    await sleep(INSPECT_EVERY_MS);
  }
}

/** Waits until no process holds a data folder. Throws `timeout` if that takes longer than `limitMs`. */
export async function waitUntilReleased(dataDir: string, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (isHeld(dataDir)) {
    if (performance.now() >= deadline) throw notAnswering(dataDir, await readInstance(dataDir));
    await sleep(INSPECT_EVERY_MS);
  }
}

function notAnswering(dataDir: string, announced: Instance | undefined): ApiChatError {
  const text = `${nameOf(announced)} holds ${dataDir} but does not respond: it is starting, stopping or hung`;
  return fail("timeout", text, [{ id: "end_process", pid: announced?.pid }]);
}

/** Returns false if the responder is gone or does not respond, or if another program has its port. */
export async function isResponding(instance: Instance): Promise<boolean> {
  try {
    return (await ask(instance, "/ping")) !== undefined;
  } catch (error) {
    if (error instanceof ApiChatError && error.code === "timeout") return false;
    throw error;
  }
}

/**
 * Throws an ApiChatError: `invalid_config` if the configuration file is wrong or names a different address or
 * folder (then nothing has changed), `unavailable` if the responder is gone.
 */
export async function requestReload(instance: Instance): Promise<void> {
  await command(instance, "/reload");
}

/** Requests a graceful stop. {@link waitUntilReleased} waits for it. Returns false if the responder is already gone. */
export async function requestStop(instance: Instance): Promise<boolean> {
  return (await ask(instance, "/stop")) !== undefined;
}

export interface SpoolChanges {
  /** Makes waiting deliveries of these workspaces (default: all) due now. Returns the number of their conversations. */
  retry(workspaces?: readonly string[]): number | Promise<number>;
  /** Forwards dead letters again. Returns their number. */
  replay(choice: DeadLetterChoice): number | Promise<number>;
}

/** Returns the spool of a running responder. Changes throw `unavailable` if the responder is gone or its disk fails. */
export const spoolOf = (running: Instance): SpoolChanges => ({
  retry: async (workspaces) => (await command(running, "/retry", { workspaces })) as number,
  replay: async (choice) => (await command(running, "/replay", choice)) as number,
});

/**
 * Changes the kept deliveries of a data folder: through its responder if one is running, else directly in the spool,
 * with the folder locked so that none can start. Returns how many deliveries or conversations it changed.
 */
export async function changeKept(
  dataDir: string,
  spool: SpoolChanges,
  make: (kept: SpoolChanges) => number | Promise<number>,
): Promise<{ count: number; isRunning: boolean }> {
  const running = await findRunning(dataDir);
  const lock = running ? undefined : await takeDataDir(dataDir);
  try {
    return { count: await make(running ? spoolOf(running) : spool), isRunning: running !== undefined };
  } finally {
    lock?.release();
  }
}

/**
 * Counts the deliveries left in the folder of a stopped responder: acknowledged but not forwarded, including dead
 * letters. Throws a SqliteError if the file cannot be read.
 */
export async function countKept(dataDir: string): Promise<number> {
  // Loaded here, because most callers need no SQLite.
  const { findSpool } = await import("./spool/file.js");
  const spool = findSpool(dataDir);
  if (spool === undefined) return 0;
  try {
    const counts = [...spool.counts().values()];
    return counts.reduce((sum, { pending, deadLetters }) => sum + pending + deadLetters, 0);
  } finally {
    spool.close();
  }
}

async function command(instance: Instance, path: string, parameters?: object): Promise<unknown> {
  const response = await ask(instance, path, { parameters, timeoutMs: CONTROL_LIMITS.changeMs });
  if (response === undefined) throw fail("unavailable", `the responder (process ${instance.pid}) is gone`);
  return response.value;
}

/** Returns the response; undefined if this instance is gone. Throws if the instance reports an error or times out. */
async function ask(
  { instance, pid, token, controlPort }: Instance,
  path: string,
  { parameters = {}, timeoutMs = CONTROL_LIMITS.answerMs }: { parameters?: object; timeoutMs?: number } = {},
): Promise<{ value?: unknown } | undefined> {
  const url = new URL(`http://${CONTROL_HOST}:${controlPort}${path}`);
  const headers = { authorization: `Bearer ${token}` };
  const body = JSON.stringify(parameters);
  // A separate client, because the default one may use a proxy from the environment.
  const dispatcher = new Client(url.origin);
  try {
    const answer = await postOnce(url, { headers, body, limitBytes: Infinity, timeoutMs, dispatcher });
    // Without this instance's ID, the response is from a different program, which uses the port now.
    if (answer.headers[INSTANCE_HEADER] !== instance || answer.status === 401) return undefined;
    const { error, ...result } = JSON.parse(answer.body.toString()) as {
      error?: Partial<Failure>;
      value?: unknown;
    };
    if (error === undefined) return result;
    const { code = "unavailable", summary = "", ...details } = error;
    throw new ApiChatError(code, summary, { operation: "responder", ...details, httpStatus: answer.status });
  } catch (error) {
    if (!(error instanceof PostError)) throw error;
    if (error.failure !== "timeout") return undefined;
    const where = `the responder (process ${pid}) did not answer on its control interface`;
    throw fail("timeout", `${where} within ${timeoutMs / 1000} s`);
  } finally {
    // An open connection would delay the responder's shutdown.
    await dispatcher.destroy();
  }
}

const fail = (code: ApiChatErrorCode, message: string, hints?: Hint[]): ApiChatError =>
  new ApiChatError(code, message, { operation: "responder", hints, attempts: 1 });
