import { nextRecord, type EmulatorState } from "./emulator-state.js";
import { writeError } from "./error-shape.js";
import { keep } from "./history.js";
import { answerError, type HttpAnswer, type HttpRequest } from "./http-server.js";
import type { RecordedRequest } from "./records.js";
import { parseOrKeep } from "./request-body.js";

/**
 * Records a request as it comes in, and its answer before it goes out. Who answers it fills in the rest: the workspace, the
 * conversation, the fault.
 */
export async function answerRecorded(
  state: EmulatorState,
  to: RecordedRequest["interface"],
  request: HttpRequest,
  answer: (record: RecordedRequest) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const begun = performance.now();
  const record = recordRequest(state, to, request);
  const given = inShape(
    state,
    request.tooLarge === undefined ? await answer(record) : tooLarge(request.tooLarge),
  );
  record.durationMs = performance.now() - begun;
  if (given.cut !== "closed") {
    record.status = given.status;
    record.answer = { headers: given.headers ?? {}, body: given.body };
  }
  state.changes.publish({ kind: "request", request: record });
  return given;
}

function tooLarge(message: string): HttpAnswer {
  return answerError(413, message, { connection: "close" });
}

function inShape({ settings }: EmulatorState, { error, ...answer }: HttpAnswer): HttpAnswer {
  if (error === undefined) return answer;
  const { "content-type": _ofEnvelope, ...headers } = answer.headers ?? {};
  return { ...answer, ...writeError(settings.errorShape, error, {}, headers) };
}

function recordRequest(
  state: EmulatorState,
  to: RecordedRequest["interface"],
  { method, address, headers, body }: HttpRequest,
): RecordedRequest {
  const record: RecordedRequest = {
    ...nextRecord(state, "request"),
    at: new Date(),
    interface: to,
    workspace: undefined,
    action: address.searchParams.get("action") ?? undefined,
    conversation: undefined,
    method,
    path: `${address.pathname}${address.search}`,
    headers,
    body: parseOrKeep(body),
    status: undefined,
    answer: undefined,
    durationMs: 0,
    fault: undefined,
  };
  keep(state.requests, record);
  return record;
}
