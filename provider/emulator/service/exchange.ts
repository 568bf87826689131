import type { RegistrationAction } from "../../../schema/registration.js";
import { sleep } from "../../lib/abort.js";
import { HttpError } from "../request-checks.js";
import type { AnswerFault } from "../faults.js";
import { keep, nextRecord, type EmulatorState, type RecordedRequest, type WorkspaceState } from "../state.js";
import type { Reading } from "../open-point-options.js";

export interface HttpRequest {
  method: string;
  /** The requested URL; only path and query matter. */
  address: URL;
  headers: Record<string, string>;
  /** The body, or why it was not read to its end. */
  body: string | HttpError;
}

export interface HttpResponse {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** Set if the connection ends without a response (`closed`) or in the middle of the body (`truncated`). */
  cut?: "closed" | "truncated";
}

export function toJson(status: number, value: unknown, headers?: Record<string, string>): HttpResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

/** The operation that an authorized request calls, and its workspace. */
interface Call {
  operation: RegistrationAction | "message";
  workspace: WorkspaceState;
  /** Performs the operation. May throw an HttpError. */
  perform: () => HttpResponse | Promise<HttpResponse>;
}

/** Returns the operation that a request calls, and adds it to the request's record. May throw an HttpError. */
export type Identify = (
  state: EmulatorState,
  request: HttpRequest,
  record: RecordedRequest,
  body: string,
) => Call;

/**
 * Responds to one request to the service. Applies the matching fault and `errorShape`. Publishes the record of
 * the request before the response is sent.
 */
export async function respondRecorded(
  state: EmulatorState,
  to: RecordedRequest["interface"],
  identify: Identify,
  request: HttpRequest,
): Promise<HttpResponse> {
  const { faults, settings, outgoing, changes } = state;
  const begun = performance.now();
  const record = recordRequest(state, to, request);
  const response = await catchErrors(settings.errorShape, () => {
    if (typeof request.body !== "string") throw request.body;
    const { operation, workspace, perform } = identify(state, request, record, request.body);
    countWithinRate(workspace, settings.requestsPerSecond);
    const fault = faults.take(operation, workspace.name);
    if (fault === undefined) return perform();
    record.fault = JSON.stringify(fault);
    const change = (): Promise<HttpResponse> => catchErrors(settings.errorShape, perform);
    return respondWithFault(fault, change, outgoing.closing);
  });
  record.durationMs = performance.now() - begun;
  if (response.cut !== "closed") {
    const { status, headers = {}, body } = response;
    record.response = { status, headers, body };
  }
  changes.publish({ type: "request", request: record });
  return response;
}

function recordRequest(
  state: EmulatorState,
  to: RecordedRequest["interface"],
  { method, address, headers, body }: HttpRequest,
): RecordedRequest {
  const record: RecordedRequest = {
    ...nextRecord(state, "request"),
    interface: to,
    workspace: null,
    operation: null,
    method,
    url: `${state.origins[to]}${address.pathname}${address.search}`,
    request: { headers, body: typeof body === "string" ? body : "" },
    response: null,
    fault: "",
    durationMs: 0,
  };
  keep(state.requests, record);
  return record;
}

const SECOND_MS = 1000;

/** Counts a request to a workspace. Throws an HttpError if it already got the maximum in the last second. */
function countWithinRate(workspace: WorkspaceState, requestsPerSecond: number | undefined): void {
  if (requestsPerSecond === undefined) return;
  const now = performance.now();
  const recent = workspace.requestTimes.filter((time) => now - time < SECOND_MS);
  workspace.requestTimes = recent;
  const [oldest = now] = recent;
  if (recent.length >= requestsPerSecond) {
    const seconds = Math.ceil((oldest + SECOND_MS - now) / SECOND_MS);
    throw new HttpError(429, `more than ${requestsPerSecond} requests to this workspace in a second`, {
      headers: { "retry-after": String(Math.max(1, seconds)) },
    });
  }
  recent.push(now);
}

async function catchErrors(
  shape: Reading<"errorShape">,
  work: () => HttpResponse | Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpError) return writeError(shape, error);
    throw error;
  }
}

/** The specification defines neither the headers nor the body of an error (section 7). */
function writeError(
  shape: Reading<"errorShape">,
  { httpStatus: status, headers, message, fields }: HttpError,
): HttpResponse {
  if (shape === "empty") return { status, headers, body: "" };
  if (shape === "text") {
    return { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers }, body: message };
  }
  const body = shape === "errors" ? { message, errors: fields } : { status: "error", message };
  return toJson(status, body, headers);
}

/** Makes the change of the operation and responds, as far as the fault allows. */
async function respondWithFault(
  fault: AnswerFault,
  change: () => Promise<HttpResponse>,
  closing: AbortSignal,
): Promise<HttpResponse> {
  if (fault === "close-before") return { status: 0, body: "", cut: "closed" };
  if (typeof fault === "string") return damage(await change(), fault);
  if ("delayMs" in fault) {
    const early = fault.afterChange ? await change() : undefined;
    await sleep(fault.delayMs, closing);
    return early ?? change();
  }
  if (fault.afterChange) await change();
  if ("statusField" in fault) {
    return toJson(200, { status: fault.statusField, message: "an injected fault" });
  }
  const { status, retryAfterSeconds, body } = fault;
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  if (body === undefined) throw new HttpError(status, "an injected fault", { headers });
  return { status, headers, body };
}

function damage(response: HttpResponse, fault: Exclude<AnswerFault, object | "close-before">): HttpResponse {
  if (fault === "html") {
    const body = "<!doctype html><title>Maintenance</title><p>Please come back later.</p>";
    return { status: 200, headers: { "content-type": "text/html" }, body };
  }
  if (fault === "broken-json") return { ...response, body: response.body.slice(0, -4) };
  return { ...response, cut: fault === "truncated" ? "truncated" : "closed" };
}
