import { expect } from "vitest";
import {
  diagnoseHandshake,
  type DiagnoseOptions,
  type FailedHandshake,
  type HandshakeDiagnosis,
  type HandshakeEncoding,
} from "../../../provider/diagnosis/index.js";
import type { Answer, Received } from "../../support/http.js";
import { readParts } from "../../support/openapi.js";
import { VERIFICATION_KEY } from "../client/harness.js";

/** Diagnoses an endpoint, using the tests' verification key. */
export const diagnose = (url: string, more: Partial<DiagnoseOptions> = {}): Promise<HandshakeDiagnosis> =>
  diagnoseHandshake({ url, verificationKey: VERIFICATION_KEY, ...more });

/** Returns the diagnosis of a failing endpoint; the test fails if the endpoint passes. */
export async function diagnoseFailure(
  url: string,
  more: Partial<DiagnoseOptions> = {},
): Promise<FailedHandshake> {
  const diagnosis = await diagnose(url, more);
  expect(diagnosis.passed).toBe(false);
  return diagnosis as FailedHandshake;
}

/** Responds to each request with this status, body and headers. */
export const respond =
  (status: number, body = "", headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

/** Checks the token, and responds with `make(challenge)`. */
export const answerChallenge =
  (
    make: (challenge: string) => string,
    headers: Record<string, string> = {},
    key = VERIFICATION_KEY,
  ): Answer =>
  (request, response) => {
    const { hub_verify_token, hub_challenge = "" } = parametersOf(request);
    if (hub_verify_token === key) response.writeHead(200, headers).end(make(hub_challenge));
    else response.writeHead(403).end("wrong token");
  };

/** Passes every handshake that has this token, as the responder does. */
export const answerHandshake = (key?: string): Answer => answerChallenge((challenge) => challenge, {}, key);

/** Passes every handshake, whatever its token. */
export const answerAnyToken: Answer = (request, response) =>
  response.end(parametersOf(request)["hub_challenge"]);

/** Reads the parameters of a handshake in any of the four encodings. */
export function parametersOf(request: Received): Record<string, string> {
  const { path, body } = request;
  const encoding = encodingOf(request);
  if (encoding === "json") return JSON.parse(body) as Record<string, string>;
  if (encoding === "multipart") return readParts(body);
  const query = new URL(path, "http://endpoint").searchParams;
  return Object.fromEntries(encoding === "query" ? query : new URLSearchParams(body));
}

/** Returns the encoding of a request. */
export function encodingOf({ headers }: Received): HandshakeEncoding {
  const type = headers["content-type"];
  if (type === undefined) return "query";
  if (type === "application/json") return "json";
  return type.startsWith("multipart/form-data") ? "multipart" : "form";
}
