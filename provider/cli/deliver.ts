import { postOnce, PostError } from "../lib/post.js";
import { formatUrl } from "../lib/url.js";
import { EXIT, printResult } from "./output.js";
import { noteIfSlow } from "./run-command.js";

/** How much of the response is read, in bytes: only its status is shown. */
const READ_BYTES = 64 * 1024;

const CHECK_KEY = "does the endpoint have the verification key that signed this?";
const CHECK_PATH = "check the path of the URL, and that the endpoint accepts POST there";

const HINTS: Partial<Record<number, string>> = {
  401: CHECK_KEY,
  403: CHECK_KEY,
  404: CHECK_PATH,
  405: CHECK_PATH,
};

interface DeliverOptions {
  to: string;
  requestSeconds: number;
  json?: boolean;
}

/** Sends one delivery once, prints the status of the response, and returns the exit code: any 2xx is success. */
export async function deliverOnce(
  { to, requestSeconds, json }: DeliverOptions,
  headers: Iterable<readonly [name: string, value: string]>,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<number> {
  const begun = performance.now();
  const sent = { headers: [...headers].flat(), body, limitBytes: READ_BYTES };
  const { status: httpStatus } = await noteIfSlow(
    () => `waiting for ${formatUrl(to)} to respond`,
    () => postOnce(new URL(to), { ...sent, timeoutMs: requestSeconds * 1000, signal }),
  ).catch((error: unknown) => {
    if (!(error instanceof PostError)) throw error;
    throw new Error(`${formatUrl(to)}: ${error.message}; is the endpoint running, and on this port?`);
  });
  const ms = Math.round(performance.now() - begun);
  const isAccepted = httpStatus >= 200 && httpStatus <= 299;
  const verdict = isAccepted ? "delivered" : "not accepted";
  const hint = HINTS[httpStatus];
  const advice = hint === undefined ? "" : `hint: ${hint}\n`;
  printResult({ json }, { httpStatus, ms }, () => `${verdict}  HTTP ${httpStatus} in ${ms} ms\n${advice}`);
  return isAccepted ? EXIT.done : EXIT.failed;
}
