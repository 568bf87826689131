import { Client } from "undici";
import { ApiChatError, type ApiChatErrorCode, type Failure } from "../errors/index.js";
import { CONTROL_HOST, INSTANCE_HEADER, type Instance } from "./data-dir.js";
import type { SpoolCounts } from "./spool/spool.js";

export { makeDataDir, readInstance, type Instance } from "./data-dir.js";
export { RESERVE_FILE, SPOOL_FILE } from "./spool/volume.js";

/** How long things may take, in milliseconds. */
export const CONTROL_LIMITS = {
  /** A response of the control interface. */
  answerMs: 10_000,
};

/** The status of a running responder. It contains no secrets. */
export interface ServerStatus {
  instance: string;
  pid: number;
  host: string;
  port: number;
  /** SHA-256 in hex of the text of the configuration file that is applied. */
  configDigest: string;
  /** By name: those of the configuration, and removed ones that still have rows. */
  workspaces: Record<string, SpoolCounts>;
}

/**
 * Requests a responder's status. Returns undefined if it is gone or another program now uses its port. Throws an
 * ApiChatError: `timeout` if it accepts the connection but does not respond.
 */
export async function requestStatus(instance: Instance): Promise<ServerStatus | undefined> {
  return (await ask(instance, "GET", "/status")) as ServerStatus | undefined;
}

/**
 * Makes a responder read its configuration file again, without a restart. Returns its status afterwards. Throws an
 * ApiChatError: `invalid_config` if the file is wrong or names another address or folder (nothing has changed then),
 * `unavailable` if the responder is gone.
 */
export async function requestReload(instance: Instance): Promise<ServerStatus> {
  const answer = await ask(instance, "POST", "/reload");
  if (answer === undefined) throw fail("unavailable", `the responder (process ${instance.pid}) is gone`);
  return answer as ServerStatus;
}

/**
 * Requests a graceful stop without waiting for it. Returns false if the responder is already gone. It has stopped when
 * its announcement (`readInstance`) is gone.
 */
export async function requestStop(instance: Instance): Promise<boolean> {
  return (await ask(instance, "POST", "/stop")) !== undefined;
}

/** Makes a responder retry waiting deliveries now, of one workspace or of all. Returns false if it is gone. */
export async function requestRetry(instance: Instance, workspace?: string): Promise<boolean> {
  const query = workspace === undefined ? "" : `?workspace=${encodeURIComponent(workspace)}`;
  return (await ask(instance, "POST", `/retry${query}`)) !== undefined;
}

/**
 * Counts the deliveries left in the folder of a stopped responder: acknowledged but not forwarded, including dead
 * letters. Throws a SqliteError for a file that cannot be read.
 */
export async function countKept(dataDir: string): Promise<number> {
  // Loaded here, because most callers need no SQLite.
  const { findSpool } = await import("./spool/spool.js");
  const spool = findSpool(dataDir);
  if (spool === undefined) return 0;
  try {
    const counts = [...spool.counts().values()];
    return counts.reduce((sum, { pending, deadLetters }) => sum + pending + deadLetters, 0);
  } finally {
    spool.close();
  }
}

/** Sends one request and returns the response. Returns undefined if that responder is gone. Throws if it refuses. */
async function ask(instance: Instance, method: "GET" | "POST", path: string): Promise<unknown> {
  const { pid, token, controlPort } = instance;
  const signal = AbortSignal.timeout(CONTROL_LIMITS.answerMs);
  // A connection of its own, and not through a proxy of the environment.
  const client = new Client(`http://${CONTROL_HOST}:${controlPort}`);
  let status: number;
  let body: unknown;
  try {
    const headers = { authorization: `Bearer ${token}` };
    const response = await client.request({ method, path, headers, signal });
    status = response.statusCode;
    body = await response.body.json();
    // Without the instance's name the response is from another program, which has the port now.
    if (response.headers[INSTANCE_HEADER] !== instance.instance || status === 401) return undefined;
  } catch {
    if (!signal.aborted) return undefined;
    const seconds = CONTROL_LIMITS.answerMs / 1000;
    throw fail(
      "timeout",
      `the responder (process ${pid}) did not answer on its control interface within ${seconds} s`,
    );
  } finally {
    // An open connection would delay the responder's shutdown.
    await client.destroy();
  }
  if (status < 300) return body;
  const {
    code = "unavailable",
    summary = `the responder has refused with HTTP ${status}`,
    ...details
  } = (body as { error?: Partial<Failure> } | undefined)?.error ?? {};
  throw new ApiChatError(code, summary, { operation: "responder", ...details, httpStatus: status });
}

const fail = (code: ApiChatErrorCode, message: string): ApiChatError =>
  new ApiChatError(code, message, { operation: "responder", attempts: 1 });
