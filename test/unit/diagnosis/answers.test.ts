import { describe, expect, test } from "vitest";
import type { HandshakeCause, HandshakeRule } from "../../../provider/diagnosis/index.js";
import { startServer, VERIFICATION_KEY, type Answer } from "../client/harness.js";
import { parametersOf } from "../webhook/harness.js";
import { answerChallenge, diagnoseFailure, respond } from "./harness.js";

const JSON_TYPE = { "content-type": "application/json" };
const HTML_TYPE = { "content-type": "text/html; charset=utf-8" };

describe.concurrent("the status", () => {
  test.each<[string, Answer, HandshakeCause, HandshakeRule]>([
    ["401", respond(401), "unauthorized", "token_refused"],
    [
      "401 that wants credentials",
      respond(401, "a token!", { "www-authenticate": "Bearer" }),
      "unauthorized",
      "token_refused",
    ],
    ["403", respond(403, "Forbidden"), "forbidden", "token_refused"],
    ["404", respond(404), "not_found", "status"],
    ["405", respond(405), "method_not_allowed", "status"],
    ["400", respond(400, "what?"), "other_status", "status"],
    ["415", respond(415), "other_status", "status"],
    ["500", respond(500, "token signature"), "server_error", "status"],
    ["502", respond(502), "server_error", "status"],
    ["503", respond(503), "server_error", "status"],
    ["302", respond(302, "", { location: "/login?next=hook" }), "redirect", "redirect"],
    ["308", respond(308, "", { location: "https://chat.example/hook/" }), "redirect", "redirect"],
  ])("%s is told", async (_, answer, cause, rule) => {
    const { origin } = await startServer(answer);
    expect(await diagnoseFailure(origin)).toMatchObject({ cause, transcript: { rule } });
  });

  test("of a redirect names the target, without the values of its query", async () => {
    const { origin } = await startServer(respond(301, "", { location: "/hook/?next=query-value" }));
    const { reason, hint } = await diagnoseFailure(origin);
    expect(reason).toBe(`form: HTTP 301 to ${origin}/hook/?next=***`);
    expect(hint).toContain("register the final URL");
  });
});

describe.concurrent("a refusal that gives its reason", () => {
  test.each<[string, number, string, HandshakeCause]>([
    [
      "the responder's own for a token",
      401,
      '{"error":{"code":"invalid_token","message":"…"}}',
      "token_refused",
    ],
    ["a token in words", 403, "Verification token mismatch", "token_refused"],
    ["a token, as 400", 400, "bad hub_verify_token", "token_refused"],
    [
      "the responder's own for a signature",
      401,
      '{"error":{"code":"invalid_signature"}}',
      "signature_demanded",
    ],
    ["a header by name", 400, "Missing X-Hub-Signature-256", "signature_demanded"],
    ["a signature, as 403", 403, "signature mismatch", "signature_demanded"],
  ])("(%s) is told", async (_, status, body, cause) => {
    const { origin } = await startServer(respond(status, body));
    const diagnosis = await diagnoseFailure(origin);
    expect(diagnosis).toMatchObject({ cause, transcript: { rule: "token_refused" } });
  });

  test("is told also if another encoding, not understood, is answered with 200", async () => {
    const { origin } = await startServer((request, response) =>
      response.writeHead(request.body === "" ? 200 : 401).end(),
    );
    expect((await diagnoseFailure(origin)).cause).toBe("unauthorized");
  });

  test("is told by the encoding that the endpoint understands", async () => {
    const { origin } = await startServer((request, response) => {
      const isForm = request.headers["content-type"]?.includes("form");
      response.writeHead(401).end(isForm ? "wrong token" : "");
    });
    const diagnosis = await diagnoseFailure(origin);
    expect(diagnosis.cause).toBe("token_refused");
    expect(diagnosis.reason).toMatch(/^form: HTTP 401/);
  });
});

/** What endpoints make of a challenge. */
const spoiled: [string, Answer, HandshakeCause][] = [
  ["no body", answerChallenge(() => ""), "empty_body"],
  ["204", respond(204), "empty_body"],
  ["JSON quotes", answerChallenge((c) => JSON.stringify(c), JSON_TYPE), "challenge_in_quotes"],
  [
    "JSON quotes with white space",
    answerChallenge((c) => ` ${JSON.stringify(`${c}\n`)}\n`),
    "challenge_in_quotes",
  ],
  ["single quotes", answerChallenge((c) => `'${c}'`), "challenge_in_quotes"],
  [
    "a JSON object",
    answerChallenge((c) => JSON.stringify({ hub_challenge: c }), JSON_TYPE),
    "challenge_in_json",
  ],
  ["a JSON list", answerChallenge((c) => JSON.stringify([[c]])), "challenge_in_json"],
  ["a line break", answerChallenge((c) => `${c}\n`), "challenge_padded"],
  ["blanks before it", answerChallenge((c) => `  ${c}`), "challenge_padded"],
  ["a byte order mark", answerChallenge((c) => `\ufeff${c}`), "challenge_padded"],
  ["lower case", answerChallenge((c) => c.toLowerCase()), "challenge_case_changed"],
  ["upper case", answerChallenge((c) => `${c.toUpperCase()}\n`), "challenge_case_changed"],
  ["parseInt", answerChallenge((c) => String(Number.parseInt(c, 10))), "challenge_as_number"],
  [
    "parseFloat, as JSON",
    answerChallenge((c) => JSON.stringify(Number.parseFloat(c)), JSON_TYPE),
    "challenge_as_number",
  ],
  [
    "a number with a fraction",
    answerChallenge((c) => Number.parseInt(c, 10).toFixed(1)),
    "challenge_as_number",
  ],
  [
    "a number with an exponent",
    answerChallenge((c) => Number.parseInt(c, 10).toExponential()),
    "challenge_as_number",
  ],
  ["Number", answerChallenge((c) => String(Number(c))), "challenge_as_number"],
  ["words around it", answerChallenge((c) => `challenge: ${c}`), "challenge_among_more"],
  ["another body", respond(200, "OK"), "other_body"],
  ["another number", respond(200, "1"), "other_body"],
  ["the token", answerChallenge(() => VERIFICATION_KEY), "other_body"],
  ["a page", respond(200, "<!doctype html><html><title>\n Sign in </title>", HTML_TYPE), "html_page"],
  ["a page without its type", respond(200, "<html><body>hi</body></html>"), "html_page"],
  ["a piece of a page", respond(200, "<p>hi</p>", HTML_TYPE), "html_page"],
  ["a page with the challenge", answerChallenge((c) => `<html>${c}</html>`, HTML_TYPE), "html_page"],
  [
    "an echo of the body",
    (request, response) => void response.end(request.body || request.path),
    "body_echoed",
  ],
  [
    "an echo of the parameters",
    (request, response) => void response.end(JSON.stringify(parametersOf(request))),
    "body_echoed",
  ],
];

describe.concurrent("a body that is not the challenge:", () => {
  test.each(spoiled)("%s is told", async (_, answer, cause) => {
    const { origin } = await startServer(answer);
    expect(await diagnoseFailure(origin)).toMatchObject({
      cause,
      transcript: {
        rule: "wrong_challenge",
        steps: [{ httpStatus: expect.any(Number) as number }, {}, {}, {}],
      },
    });
  });

  test("the type of a text does not make it a page: PHP says HTML of everything", async () => {
    const { origin } = await startServer(answerChallenge((c) => `${c}\n`, HTML_TYPE));
    expect((await diagnoseFailure(origin)).cause).toBe("challenge_padded");
  });

  test("the title of a page is quoted in place of its start", async () => {
    const { origin } = await startServer(
      respond(200, "<!doctype html><html><title>\n Sign in </title>", HTML_TYPE),
    );
    const { reason, transcript } = await diagnoseFailure(origin);
    expect(reason).toBe('form: HTTP 200 text/html; charset=utf-8, page "Sign in" (an HTML page)');
    expect(transcript.steps[0]).not.toHaveProperty("firstBytes");
  });

  test("of several encodings that which says most is told", async () => {
    const { origin } = await startServer((request, response, index) => {
      const isJson = request.headers["content-type"] === "application/json";
      (isJson ? answerChallenge((c) => `"${c}"`) : respond(200))(request, response, index);
    });
    const { cause, reason } = await diagnoseFailure(origin);
    expect(cause).toBe("challenge_in_quotes");
    expect(reason).toMatch(/^json: HTTP 200, body ""\[redacted\]"" \(the challenge stands in quotes\)$/);
  });
});
