import { expect, test } from "vitest";
import { verifySignature } from "../../../provider/responder/index.js";
import type { DiagnoseOptions, HandshakeEncoding } from "../../../provider/diagnosis/index.js";
import { startServer, type Answer } from "../../support/http.js";
import { VERIFICATION_KEY } from "../client/harness.js";
import {
  answerAnyToken,
  answerHandshake,
  diagnose,
  diagnoseFailure,
  encodingOf,
  parametersOf,
  respond,
} from "./harness.js";

const serviceUrl = "http://127.0.0.1:9/";

test("an endpoint that does all right passes without a warning", async () => {
  const { url, requests } = await startServer(answerHandshake());
  const diagnosis = await diagnose(`${url}/hook?token=query-value`, { serviceUrl });
  const ms: unknown = expect.any(Number);
  expect(diagnosis).toEqual({
    passed: true,
    warnings: [],
    transcript: {
      url: `${url}/hook?token=***`,
      addresses: ["127.0.0.1"],
      rounds: 1,
      steps: ["form", "json"].map((encoding) => ({ encoding, httpStatus: 200, ms })),
    },
  });
  expect(requests).toHaveLength(2);
});

/** Answers with the challenge, and with a status of each encoding. */
const answerWith =
  (statusOf: (encoding: HandshakeEncoding) => number): Answer =>
  (request, response, index) => {
    response.statusCode = statusOf(encodingOf(request));
    return answerAnyToken(request, response, index);
  };

/** Answers one encoding, and refuses the others. */
const answerOnly =
  (encoding: HandshakeEncoding, answer: Answer = answerHandshake()): Answer =>
  (request, response, index) =>
    (encodingOf(request) === encoding ? answer : respond(400, "not so"))(request, response, index);

const late: Answer = (request, response, index) =>
  setTimeout(() => answerHandshake()(request, response, index), 150);

const LATE = /takes 0\.\d s to answer/;
const probe = { probeToken: true };

test.each<[string, Answer, Partial<DiagnoseOptions>, codes: string[], sent: number, text?: RegExp]>([
  // In the order in which they are tried: form and JSON at once.
  ...(["form", "json", "multipart", "query"] as const).map(
    (encoding, place): [string, Answer, object, string[], number, RegExp] => [
      `a challenge only if it is sent as ${encoding}`,
      answerOnly(encoding),
      {},
      [`only_as_${encoding}`],
      Math.max(2, place + 1),
      /HTTP 400, body "not so"/,
    ],
  ),
  ["a challenge with 201", answerWith(() => 201), {}, ["not_200"], 2, /with HTTP 201; the specification/],
  [
    "a challenge with 202 as JSON only",
    answerWith((encoding) => (encoding === "json" ? 202 : 200)),
    {},
    ["not_200"],
    2,
    /with HTTP 202;/,
  ],
  ["an answer that takes long", late, { slowMs: 100 }, ["slow"], 2, LATE],
  ["an answer below five seconds", late, {}, [], 2],
  ["a challenge to anyone", answerAnyToken, probe, ["token_not_checked"], 3],
  ["a challenge to anyone, not probed for", answerAnyToken, {}, [], 2],
  [
    "a challenge to anyone, in one encoding",
    answerOnly("json", answerAnyToken),
    probe,
    ["only_as_json", "token_not_checked"],
    3,
  ],
  ["a refusal of a wrong token", answerHandshake(), probe, [], 3],
])("%s passes with its warnings", async (_, answer, options, codes, sent, text = /./) => {
  const { url, requests } = await startServer(answer);
  const { passed, warnings } = await diagnose(url, { serviceUrl, ...options });
  expect(passed).toBe(true);
  expect(warnings.map(({ code }) => code)).toEqual(codes);
  for (const warning of warnings.slice(0, 1)) expect(warning.text).toMatch(text);
  expect(requests).toHaveLength(sent);
  const tokens = requests.map((one) => parametersOf(one)["hub_verify_token"]);
  const isRight = tokens.map((_token, index) => !options.probeToken || index < sent - 1);
  expect(tokens.map((token) => token === VERIFICATION_KEY)).toEqual(isRight);
});

/** Lets only signed requests through. */
const demandSignature: Answer = async (request, response, index) => {
  const signature = request.headers["x-hub-signature-256"];
  const { body } = request;
  const isSigned = await verifySignature({ verificationKeys: VERIFICATION_KEY, body, signature });
  return (isSigned ? answerHandshake() : respond(403))(request, response, index);
};

test.each<[string, Answer, boolean, cause: string, sent: number]>([
  ["found by a handshake with one", demandSignature, true, "signature_demanded", 5],
  ["not probed for unless asked", demandSignature, false, "forbidden", 4],
  ["not said of an endpoint that refuses that too", respond(401), true, "unauthorized", 5],
])("a signature that is demanded without a word is %s", async (_, answer, probeSignature, cause, sent) => {
  const { url, requests } = await startServer(answer);
  expect((await diagnoseFailure(url, { probeSignature })).cause).toBe(cause);
  expect(requests).toHaveLength(sent);
});
