import { connectionCode, PostError, postOnce, type PostOptions } from "../lib/post.js";
import { formatUrl } from "../lib/url.js";
import { EXIT, printResult } from "./output.js";
import { noteIfSlow } from "./run-command.js";

/** How many bytes of the response are read. Only its status is shown. */
const READ_BYTES = 64 * 1024;

const CHECK_KEY = "is this signed with a verification key that the endpoint accepts?";
const CHECK_PATH = "check the path of the URL, and that the endpoint accepts POST there";

const HINTS: Partial<Record<number, string>> = {
  401: CHECK_KEY,
  403: CHECK_KEY,
  404: CHECK_PATH,
  405: CHECK_PATH,
};

export interface PostEnd {
  /** Null if there was no response. */
  status: number | null;
  /** Why there was no response; empty if there was one. */
  reason: string;
  durationMs: number;
}

/** Posts a delivery once. Does not follow a redirect. */
export async function postDelivery(
  url: string,
  headers: Iterable<readonly [name: string, value: string]>,
  options: Omit<PostOptions, "headers" | "limitBytes">,
): Promise<PostEnd> {
  const startMs = performance.now();
  const end = await postOnce(new URL(url), {
    ...options,
    headers: [...headers].flat(),
    limitBytes: READ_BYTES,
  }).then(
    ({ status }) => ({ status, reason: "" }),
    (error: unknown) => ({ status: null, reason: describePostError(error) }),
  );
  return { ...end, durationMs: Math.round(performance.now() - startMs) };
}

function describePostError(error: unknown): string {
  if (!(error instanceof PostError)) throw error;
  if (error.failure === "aborted") return "stopped by Ctrl-C";
  const isRefused = connectionCode(error) === "ECONNREFUSED";
  return error.message + (isRefused ? "; is your program running, and on this port?" : "");
}

interface DeliverOptions {
  to: string;
  requestSeconds: number;
  json?: boolean;
}

/** Sends a delivery once, prints the status of the response, and returns the exit code: any 2xx is success. */
export async function deliverOnce(
  { to, requestSeconds, json }: DeliverOptions,
  headers: Iterable<readonly [name: string, value: string]>,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<number> {
  const {
    status: httpStatus,
    reason,
    durationMs: ms,
  } = await noteIfSlow(
    () => `waiting for ${formatUrl(to)} to respond`,
    () => postDelivery(to, headers, { body, timeoutMs: requestSeconds * 1000, signal }),
  );
  if (httpStatus === null) throw new Error(`${formatUrl(to)}: ${reason}`);
  const isAccepted = httpStatus >= 200 && httpStatus <= 299;
  const verdict = isAccepted ? "delivered" : "not accepted";
  const hint = HINTS[httpStatus];
  const advice = hint === undefined ? "" : `hint: ${hint}\n`;
  printResult({ json }, { httpStatus, ms }, () => `${verdict}  HTTP ${httpStatus} in ${ms} ms\n${advice}`);
  return isAccepted ? EXIT.done : EXIT.failed;
}
