import type { RegistrationAction } from "../../../schema/registration.js";
import { sleep } from "../../lib/abort.js";
import { HttpError } from "../errors.js";
import type { AnswerFault } from "../faults.js";
import { keep, nextRecord, type EmulatorState, type RecordedRequest, type WorkspaceState } from "../state.js";
import type { Reading } from "../switches.js";
import { countWithinRate } from "./checks.js";
import { answerJson, BODY_LIMIT_BYTES, type HttpResponse, type HttpRequest } from "./http.js";

/** What a request asks for, once its workspace and its key are known to be right. */
export interface Call {
  operation: RegistrationAction | "message";
  workspace: WorkspaceState;
  /** Makes the change. May throw an HttpError. */
  perform: () => HttpResponse | Promise<HttpResponse>;
}

/**
 * Answers one request of the service: records it, lets a fault spoil it, and writes a refusal as `errorShape` says. The record
 * is written before the answer goes out. `identify` fills in the workspace, and may throw an HttpError.
 */
export async function answerRecorded(
  state: EmulatorState,
  to: RecordedRequest["interface"],
  request: HttpRequest,
  identify: (record: RecordedRequest) => Call,
): Promise<HttpResponse> {
  const { faults, settings, outgoing, changes } = state;
  const begun = performance.now();
  const record = recordRequest(state, to, request);
  const answer = await answerRefusals(settings.errorShape, () => {
    if (request.isTooLarge) {
      const message = `the body is larger than ${BODY_LIMIT_BYTES} bytes`;
      throw new HttpError(413, message, { headers: { connection: "close" } });
    }
    const { operation, workspace, perform } = identify(record);
    countWithinRate(workspace, settings.requestsPerSecond);
    const fault = faults.take(operation, workspace.name);
    if (fault === undefined) return perform();
    record.fault = JSON.stringify(fault);
    const change = (): Promise<HttpResponse> => answerRefusals(settings.errorShape, perform);
    return answerWithFault(fault, change, outgoing.closing);
  });
  record.durationMs = performance.now() - begun;
  if (answer.cut !== "closed") {
    const { status, headers = {}, body } = answer;
    record.status = status;
    record.response = { status, headers, body };
  }
  changes.publish({ kind: "request", request: record });
  return answer;
}

function recordRequest(
  state: EmulatorState,
  to: RecordedRequest["interface"],
  { method, address, headers, body }: HttpRequest,
): RecordedRequest {
  const action = address.searchParams.get("action");
  const record: RecordedRequest = {
    ...nextRecord(state, "request"),
    at: new Date().toISOString(),
    interface: to,
    workspace: null,
    ...(action !== null && { action }),
    operation: null,
    conversation: null,
    method,
    url: `${state.origins[to]}${address.pathname}${address.search}`,
    request: { headers, body },
    response: null,
    fault: "",
    durationMs: 0,
  };
  keep(state.requests, record);
  return record;
}

async function answerRefusals(
  shape: Reading<"errorShape">,
  work: () => HttpResponse | Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpError) return writeRefusal(shape, error);
    throw error;
  }
}

/** The specification shows neither headers nor body of an error (section 7). */
function writeRefusal(
  shape: Reading<"errorShape">,
  { httpStatus: status, headers, message, fields }: HttpError,
): HttpResponse {
  if (shape === "empty") return { status, headers, body: "" };
  if (shape === "text") {
    return { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers }, body: message };
  }
  const body = shape === "errors" ? { message, errors: fields } : { status: "error", message };
  return answerJson(status, body, headers);
}

/** Makes the change and answers, as far as the fault lets it. */
async function answerWithFault(
  fault: AnswerFault,
  change: () => Promise<HttpResponse>,
  closing: AbortSignal,
): Promise<HttpResponse> {
  if (fault === "close-before") return { status: 0, body: "", cut: "closed" };
  if (typeof fault === "string") return damageAnswer(await change(), fault);
  if ("delayMs" in fault) {
    const early = fault.afterChange ? await change() : undefined;
    await sleep(fault.delayMs, closing);
    return early ?? change();
  }
  if (fault.afterChange) await change();
  if ("statusField" in fault) {
    return answerJson(200, { status: fault.statusField, message: "an injected fault" });
  }
  const { status, retryAfterSeconds, body } = fault;
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  if (body === undefined) throw new HttpError(status, "an injected fault", { headers });
  return { status, headers, body };
}

function damageAnswer(
  answer: HttpResponse,
  damage: Exclude<AnswerFault, object | "close-before">,
): HttpResponse {
  if (damage === "html") {
    const body = "<!doctype html><title>Maintenance</title><p>Please come back later.</p>";
    return { status: 200, headers: { "content-type": "text/html" }, body };
  }
  if (damage === "broken-json") return { ...answer, body: answer.body.slice(0, -4) };
  return { ...answer, cut: damage === "truncated" ? "truncated" : "closed" };
}
