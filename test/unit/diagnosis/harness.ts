import { expect } from "vitest";
import {
  diagnoseHandshake,
  type DiagnoseOptions,
  type FailedHandshake,
  type HandshakeDiagnosis,
  type HandshakeEncoding,
} from "../../../provider/diagnosis/index.js";
import type { Answer, Received } from "../../support/http.js";
import { VERIFICATION_KEY } from "../client/harness.js";
import { parametersOf } from "../webhook/harness.js";

/** Diagnoses an endpoint with the key of the tests. */
export const diagnose = (url: string, more: Partial<DiagnoseOptions> = {}): Promise<HandshakeDiagnosis> =>
  diagnoseHandshake({ url, verificationKey: VERIFICATION_KEY, ...more });

/** The diagnosis of an endpoint that fails; the test fails if it passes. */
export async function diagnoseFailure(
  url: string,
  more: Partial<DiagnoseOptions> = {},
): Promise<FailedHandshake> {
  const diagnosis = await diagnose(url, more);
  expect(diagnosis.passed).toBe(false);
  return diagnosis as FailedHandshake;
}

/** Answers each request with this status, body and headers. */
export const respond =
  (status: number, body = "", headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

/** Checks the token, and answers what it makes of the challenge. */
export const answerChallenge =
  (make: (challenge: string) => string, headers: Record<string, string> = {}): Answer =>
  (request, response) => {
    const { hub_verify_token, hub_challenge = "" } = parametersOf(request);
    if (hub_verify_token === VERIFICATION_KEY) response.writeHead(200, headers).end(make(hub_challenge));
    else response.writeHead(403).end();
  };

/** In which encoding a request came. */
export function encodingOf({ headers }: Received): HandshakeEncoding {
  const type = headers["content-type"];
  if (type === undefined) return "query";
  if (type === "application/json") return "json";
  return type.startsWith("multipart/form-data") ? "multipart" : "form";
}
