import { describe, expect, onTestFinished, test, vi } from "vitest";
import type {
  DiagnoseOptions,
  HandshakeCause,
  HandshakeEncoding,
  HandshakeRule,
} from "../../../provider/diagnosis/index.js";
import { verifySignature } from "../../../provider/responder/index.js";
import { type Answer, startServer } from "../../support/http.js";
import { VERIFICATION_KEY } from "../client/harness.js";
import {
  answerAnyToken,
  answerChallenge as make,
  answerHandshake,
  diagnose,
  diagnoseFailure,
  encodingOf,
  parametersOf,
  respond,
} from "./harness.js";

const JSON_TYPE = { "content-type": "application/json" };
const HTML_TYPE = { "content-type": "text/html; charset=utf-8" };

/** Maps each rule to responses that break it. */
const ANSWERS: Partial<Record<HandshakeRule, [name: string, Answer, HandshakeCause][]>> = {
  status: [
    ["404", respond(404), "not_found"],
    ["405", respond(405), "method_not_allowed"],
    ["400", respond(400, "what?"), "other_status"],
    ["500", respond(500, "token signature"), "server_error"],
  ],
  redirect: [["302", respond(302, "", { location: "/login?next=hook" }), "redirect"]],
  token_refused: [
    ["401", respond(401), "unauthorized"],
    [
      "a 401 that asks for credentials",
      respond(401, "a token!", { "www-authenticate": "Bearer" }),
      "unauthorized",
    ],
    ["403", respond(403, "Forbidden"), "forbidden"],
    ["a 401 with invalid_token", respond(401, '{"error":{"code":"invalid_token"}}'), "token_refused"],
    ["a 400 that names the token", respond(400, "bad hub_verify_token"), "token_refused"],
    ["a 401 with invalid_signature", respond(401, '{"code":"invalid_signature"}'), "signature_demanded"],
    ["a 403 that names a signature", respond(403, "signature mismatch"), "signature_demanded"],
    [
      "a 401 to one encoding, and a 200 without the challenge to another",
      ({ body }, response) => response.writeHead(body === "" ? 200 : 401).end(),
      "unauthorized",
    ],
  ],
  wrong_challenge: [
    ["no body", make(() => ""), "empty_body"],
    ["JSON quotes", make((c) => JSON.stringify(c), JSON_TYPE), "challenge_in_quotes"],
    ["JSON quotes and whitespace", make((c) => ` ${JSON.stringify(`${c}\n`)}\n`), "challenge_in_quotes"],
    ["single quotes", make((c) => `'${c}'`), "challenge_in_quotes"],
    ["a JSON object", make((c) => JSON.stringify({ hub_challenge: c }), JSON_TYPE), "challenge_in_json"],
    ["a line break", make((c) => `${c}\n`), "challenge_padded"],
    // PHP labels everything as HTML.
    ["a line break, as HTML", make((c) => `${c}\n`, HTML_TYPE), "challenge_padded"],
    ["a byte order mark", make((c) => `\ufeff${c}`), "challenge_padded"],
    ["upper case", make((c) => `${c.toUpperCase()}\n`), "challenge_case_changed"],
    ["the result of parseInt", make((c) => String(Number.parseInt(c, 10))), "challenge_as_number"],
    ["a fraction", make((c) => Number.parseInt(c, 10).toFixed(1)), "challenge_as_number"],
    ["an exponent", make((c) => Number.parseInt(c, 10).toExponential()), "challenge_as_number"],
    ["the result of Number", make((c) => String(Number(c))), "challenge_as_number"],
    ["words around it", make((c) => `challenge: ${c}`), "challenge_among_more"],
    ["another number", respond(200, "1"), "other_body"],
    ["the token", make(() => VERIFICATION_KEY), "other_body"],
    ["a page", respond(200, "<!doctype html><html></html>", HTML_TYPE), "html_page"],
    ["a page without a content type", respond(200, "<html><body>hi</body></html>"), "html_page"],
    ["a fragment of a page", respond(200, "<p>hi</p>", HTML_TYPE), "html_page"],
    ["an echo of the body", ({ body, path }, response) => response.end(body || path), "body_echoed"],
    [
      "an echo of the parameters",
      (request, response) => response.end(JSON.stringify(parametersOf(request))),
      "body_echoed",
    ],
  ],
};

describe.each(Object.entries(ANSWERS))("a response that breaks the rule %s", (rule, answers) => {
  test.concurrent.each(answers)("%s is diagnosed", async (_, answer, cause) => {
    const { url } = await startServer(answer);
    const { cause: found, transcript } = await diagnoseFailure(url);
    expect([found, transcript.cause, transcript.rule]).toEqual([cause, cause, rule]);
    expect(transcript.steps.map(({ httpStatus }) => typeof httpStatus)).toEqual(Array(4).fill("number"));
  });
});

test("the reason for a redirect names its target, without the values of the query", async () => {
  const { url } = await startServer(respond(301, "", { location: "/hook/?next=query-value" }));
  const { reason, hint } = await diagnoseFailure(url);
  expect(reason).toBe(`form: HTTP 301 to ${url}/hook/?next=***`);
  expect(hint).toContain("register the final URL");
});

test("if the response is a page with a title, the reason quotes the title, not the start of the page", async () => {
  const { url } = await startServer(
    respond(200, "<!doctype html><html><title>\n Sign in </title>", HTML_TYPE),
  );
  const { reason, transcript } = await diagnoseFailure(url);
  expect(reason).toBe('form: HTTP 200 text/html; charset=utf-8, page "Sign in" (an HTML page)');
  expect(transcript.steps[0]).not.toHaveProperty("firstBytes");
});

const serviceUrl = "http://127.0.0.1:9/";

test("a correct endpoint passes without a warning, and receives two different challenges", async () => {
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
  for (const request of requests) {
    expect(request).toMatchObject({ method: "POST", path: "/hook?token=query-value" });
    expect(parametersOf(request)).toEqual({
      hub_mode: "subscribe",
      hub_verify_token: VERIFICATION_KEY,
      hub_challenge: expect.any(String) as string,
    });
  }
  expect(new Set(requests.map((one) => parametersOf(one)["hub_challenge"])).size).toBe(2);
});

/** Responds with the challenge; the status depends on the encoding of the request. */
const answerWith =
  (statusOf: (encoding: HandshakeEncoding) => number): Answer =>
  (request, response, index) => {
    response.statusCode = statusOf(encodingOf(request));
    return answerAnyToken(request, response, index);
  };

/** Accepts one encoding, and rejects the others. */
const answerOnly =
  (encoding: HandshakeEncoding, answer: Answer = answerHandshake()): Answer =>
  (request, response, index) =>
    (encodingOf(request) === encoding ? answer : respond(400, "not so"))(request, response, index);

/** Answers every handshake correctly, after this many milliseconds on the fake clock. */
const answerAfter =
  (ms: number): Answer =>
  (...exchange) => {
    vi.advanceTimersByTime(ms);
    return answerHandshake()(...exchange);
  };

const probe = { probe: true };

test.each<
  [string, Answer, codes: string[], text?: RegExp, options?: Partial<DiagnoseOptions>, sent?: number]
>([
  // In the order of the attempts. Form and JSON are tried at the same time, so at least two requests arrive.
  ...(["form", "json", "multipart", "query"] as const).map(
    (encoding, place): [string, Answer, string[], RegExp, object, number] => [
      `a challenge that is returned only if it was sent as ${encoding}`,
      answerOnly(encoding),
      [`only_as_${encoding}`],
      /HTTP 400, body "not so"/,
      {},
      Math.max(2, place + 1),
    ],
  ),
  [
    "an endpoint that rejects forms, as FastAPI does without python-multipart,",
    answerWith((encoding) => (encoding === "form" ? 500 : 200)),
    ["only_as_json"],
    /HTTP 500.*pip install python-multipart/,
  ],
  ["a challenge with 201", answerWith(() => 201), ["not_200"], /with HTTP 201; the specification/],
  [
    "a challenge returned with 202 if it was sent as JSON",
    answerWith((encoding) => (encoding === "json" ? 202 : 200)),
    ["not_200"],
    /with HTTP 202;/,
  ],
  ["a slow response", answerAfter(5_000), ["slow"], /takes \d+\.\d s to answer/],
  ["a response in less than five seconds", answerAfter(2_000), []],
  ["a challenge returned for any token", answerAnyToken, ["token_not_checked"], /./, probe],
  ["a challenge returned for any token, if no wrong token is tried,", answerAnyToken, []],
  [
    "a challenge returned for any token, in one encoding",
    answerOnly("json", answerAnyToken),
    ["only_as_json", "token_not_checked"],
    /./,
    probe,
  ],
  ["a rejection of a wrong token", answerHandshake(), [], /./, probe],
])("%s passes, with the expected warnings", async (_, answer, codes, text = /./, options = {}, sent) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { url, requests } = await startServer(answer);
  const { passed, warnings } = await diagnose(url, { serviceUrl, ...options });
  expect(passed).toBe(true);
  expect(warnings.map(({ code }) => code)).toEqual(codes);
  for (const warning of warnings.slice(0, 1)) expect(warning.text).toMatch(text);
  const tokens = requests.map((one) => parametersOf(one)["hub_verify_token"] === VERIFICATION_KEY);
  expect(tokens).toEqual(options.probe ? [true, true, false] : Array(sent ?? 2).fill(true));
});

/** Accepts only signed requests. */
const demandSignature: Answer = async (request, response, index) => {
  const signature = request.headers["x-hub-signature-256"];
  const { body } = request;
  const isSigned = await verifySignature({ verificationKeys: VERIFICATION_KEY, body, signature });
  return (isSigned ? answerHandshake() : respond(403))(request, response, index);
};

test.each<[string, Answer, boolean, cause: string, sent: number]>([
  ["found by repeating the handshake with a signature", demandSignature, true, "signature_demanded", 5],
  ["not found by default, because no signature is tried", demandSignature, false, "forbidden", 4],
  ["not reported if the signed handshake fails too", respond(401), true, "unauthorized", 5],
])("an endpoint that requires a signature: %s", async (_, answer, isProbed, cause, sent) => {
  const { url, requests } = await startServer(answer);
  expect((await diagnoseFailure(url, { probe: isProbed })).cause).toBe(cause);
  expect(requests).toHaveLength(sent);
});
