import { request, type IncomingMessage } from "node:http";
import { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";
import type { Instance } from "./instance.js";

export { readInstance, type Instance } from "./instance.js";

/** The control interface is for this machine only. */
export const CONTROL_HOST = "127.0.0.1";

/** Stands in each answer of the control interface, also in a refused one: which start it is. */
export const INSTANCE_HEADER = "x-apichat-instance";

/** How long the control interface may take to answer, in milliseconds. */
const ANSWER_MS = 10_000;

/** One workspace of a running responder. */
export interface WorkspaceStatus {
  /** Absent for one that is gone from the configuration and still has rows. */
  path?: string;
  /** Whether deliveries are forwarded; else they are kept to be read. */
  forwards: boolean;
  /** How many deliveries are acknowledged and not yet forwarded. */
  pending: number;
  /** How many could not be forwarded, and wait to be replayed. */
  deadLetters: number;
}

/** What a running responder says of itself. No secret is in it. */
export interface ServerStatus {
  instance: string;
  pid: number;
  host: string;
  port: number;
  /** SHA-256 in hex of the bytes of the configuration file that are applied. */
  configDigest: string;
  /** By name: those of the configuration, and those gone from it that still have rows. */
  workspaces: Record<string, WorkspaceStatus>;
}

/**
 * Asks a responder for its status. undefined: that responder is gone, or another program has its port now. Throws an
 * ApiChatError: `timeout` if it takes the connection and does not answer, `protocol` if its answer cannot be read.
 */
export async function requestStatus(instance: Instance): Promise<ServerStatus | undefined> {
  const answer = await ask(instance, "GET", "/status");
  return answer === undefined ? undefined : readStatus(answer);
}

/**
 * Has a responder read its configuration file again, without a restart. Gives its status afterwards. Throws an
 * ApiChatError: `invalid_config` if the file is wrong or names another address or folder (nothing has changed then),
 * `unavailable` if the responder is gone.
 */
export async function requestReload(instance: Instance): Promise<ServerStatus> {
  const answer = await ask(instance, "POST", "/reload");
  if (answer === undefined) throw fail("unavailable", `the responder (process ${instance.pid}) is gone`);
  return readStatus(answer);
}

/**
 * Asks a responder to stop gracefully, and does not wait until it has. false: it is gone already. It has stopped when its
 * announcement (`readInstance`) is no more.
 */
export async function requestStop(instance: Instance): Promise<boolean> {
  return (await ask(instance, "POST", "/stop")) !== undefined;
}

/** Has a responder forward at once what waits for its next attempt, of one workspace or of every one. false: it is gone. */
export async function requestWake(instance: Instance, workspace?: string): Promise<boolean> {
  const query = workspace === undefined ? "" : `?workspace=${encodeURIComponent(workspace)}`;
  return (await ask(instance, "POST", `/wake${query}`)) !== undefined;
}

interface ControlAnswer {
  status: number;
  /** Which start has answered; undefined from a program that is no responder. */
  instance: string | undefined;
  body: string;
}

/** One request. undefined: that responder is not there. Throws for an answer that is a failure. */
async function ask(instance: Instance, method: string, path: string): Promise<ControlAnswer | undefined> {
  const answer = await send(instance, method, path);
  // Without its name the answer is another program's, which has the port now.
  if (answer?.instance !== instance.instance || answer.status === 401) return undefined;
  if (answer.status < 300) return answer;
  throw readFailure(answer);
}

function send(instance: Instance, method: string, path: string): Promise<ControlAnswer | undefined> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const headers = { authorization: `Bearer ${instance.token}` };
    // A connection of its own: one that is kept alive would hold up the responder's end.
    const options = {
      host: CONTROL_HOST,
      port: instance.controlPort,
      method,
      path,
      headers,
      agent: false,
      signal,
    };
    const end = (): void => (signal.aborted ? reject(silence(instance)) : resolve(undefined));
    request(options, (response) => {
      readAnswer(response).then(resolve, end);
    })
      .on("error", end)
      .end();
  });
}

async function readAnswer(response: IncomingMessage): Promise<ControlAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const instance = response.headers[INSTANCE_HEADER];
  return {
    status: response.statusCode ?? 0,
    instance: typeof instance === "string" ? instance : undefined,
    body: Buffer.concat(chunks).toString(),
  };
}

function readStatus({ body }: ControlAnswer): ServerStatus {
  try {
    return JSON.parse(body) as ServerStatus;
  } catch (cause) {
    throw new ApiChatError("protocol", "the responder's status is not JSON", {
      operation: "responder",
      cause,
    });
  }
}

function readFailure({ status, body }: ControlAnswer): ApiChatError {
  try {
    const { error } = JSON.parse(body) as { error: { code?: ApiChatErrorCode; message: string } };
    return fail(error.code ?? "unavailable", error.message, status);
  } catch {
    // Not of the shape that this version gives: the status says all there is.
    return fail("unavailable", `the responder has refused with HTTP ${status}`, status);
  }
}

const silence = ({ pid }: Instance): ApiChatError =>
  fail(
    "timeout",
    `the responder (process ${pid}) has not answered its control interface within ${ANSWER_MS / 1000} s`,
  );

const fail = (code: ApiChatErrorCode, message: string, httpStatus?: number): ApiChatError =>
  new ApiChatError(code, message, { operation: "responder", attempts: 1, ...(httpStatus && { httpStatus }) });
