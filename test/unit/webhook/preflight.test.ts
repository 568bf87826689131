import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import type { HandshakeRule } from "../../../provider/errors/index.js";
import type { WebhookInputs } from "../../../provider/webhook/contract.js";
import { preflight, type PreflightOptions } from "../../../provider/webhook/preflight.js";
import { findSecrets } from "../../support/secrets.js";
import { closedPort, type Answer } from "../client/harness.js";
import { answerChallenge, encodingOf, respond } from "../diagnosis/harness.js";
import {
  VERIFICATION_KEY,
  afterTests,
  answerAnyToken,
  answerHandshake,
  failureOf,
  isolateRuns,
  parametersOf,
  startServer,
} from "./harness.js";

const lines = isolateRuns();

type Settings = Partial<Pick<WebhookInputs, "preflight" | "baseUrl">> & PreflightOptions;

/** Makes one round unless there is more time. */
const run = (url: string, { deadline = performance.now(), refusedRounds, ...inputs }: Settings = {}) =>
  preflight(
    {
      name: "acme",
      webhookUrl: url,
      webhookVerificationKey: VERIFICATION_KEY,
      baseUrl: "http://127.0.0.1:9/",
      status: "verified",
      ...inputs,
    },
    { deadline, refusedRounds },
  );

const inSeconds = (seconds: number): number => performance.now() + seconds * 1000;
const inAMinute = (): { deadline: number } => ({ deadline: inSeconds(60) });

/** Of one in which all fail. */
const REQUESTS_OF_A_ROUND = 4;

test("the handshake is posted as form and as JSON, each with a challenge of its own", async () => {
  const { origin, received } = await startServer(answerHandshake());
  await run(`${origin}/hook?tenant=a%20b`);
  const sent = new Map(received.map((one) => [one.headers["content-type"], one]));
  expect(new Set(sent.keys())).toEqual(new Set(["application/json", "application/x-www-form-urlencoded"]));
  for (const one of received) {
    expect([one.method, one.path]).toEqual(["POST", "/hook?tenant=a%20b"]);
    expect(parametersOf(one)).toMatchObject({ hub_mode: "subscribe", hub_verify_token: VERIFICATION_KEY });
  }
  expect(Object.keys(JSON.parse(sent.get("application/json")?.body ?? "") as object)).toHaveLength(3);
  expect(new Set(received.map((one) => parametersOf(one)["hub_challenge"])).size).toBe(2);
  expect(lines).toEqual([]);
});

test("the key goes into the query, and so into access logs, only if no body passes", async () => {
  const { origin, received } = await startServer((request, response, index) =>
    (request.body === "" ? answerHandshake() : respond(400))(request, response, index),
  );
  await run(`${origin}/hook?tenant=a%20b`);
  expect(received.map(({ body }) => body === "")).toEqual([false, false, false, true]);
  expect(received[3]?.path).toMatch(/^\/hook\?tenant=a%20b&hub_mode=subscribe&/);
});

test("a wrong token is never tried", async () => {
  const { origin, received } = await startServer(answerAnyToken);
  await run(origin);
  const tokens = received.map((one) => parametersOf(one)["hub_verify_token"]);
  expect(tokens).toEqual([VERIFICATION_KEY, VERIFICATION_KEY]);
  expect(lines).toEqual([]);
});

describe("an endpoint that breaks a rule", () => {
  test.each<[string, Answer, HandshakeRule, number]>([
    ["400", respond(400, "what?"), "status", 400],
    ["401", respond(401), "token_refused", 401],
    ["a redirect", respond(302, "", { location: "/login?next=query-value" }), "redirect", 302],
    ["204", respond(204), "wrong_challenge", 204],
    ["the challenge and more", answerChallenge((c) => c.padEnd(100_000)), "wrong_challenge", 200],
  ])("(%s) fails with its transcript", async (_, answer, rule, httpStatus) => {
    const { origin } = await startServer(answer);
    const error = await failureOf(run(`${origin}/hook?token=query-value`));
    const url = `${origin}/hook?token=***`;
    expect(error).toMatchObject({
      code: "handshake_failed",
      operation: "handshake",
      attempts: 1,
      httpStatus,
      facts: { at: url },
      hints: [{ id: "fix_endpoint" }],
      transcript: {
        url,
        addresses: ["127.0.0.1"],
        rounds: 1,
        rule,
        steps: ["form", "json", "multipart", "query"].map((encoding) => ({ encoding, rule, httpStatus })),
      },
    });
    expect(error.summary).toContain("set-webhook was not called");
    expect(error.message).not.toContain("query-value");
  });

  test("(nothing listens) names the way out where this machine may be the one that cannot reach it", async () => {
    const error = await failureOf(run(`http://127.0.0.1:${await closedPort()}/`));
    expect(error.transcript).toMatchObject({ rule: "unreachable", addresses: ["127.0.0.1"] });
    expect(error.httpStatus).toBeUndefined();
    expect(error.hints).toContainEqual({ id: "warn_only", unless: "unreachable" });
  });

  test("(silence) is given up a second after the deadline at the latest", async () => {
    const { origin } = await startServer(() => undefined);
    const error = await failureOf(run(origin));
    expect(error.transcript?.rule).toBe("no_answer");
    expect(error.message).toContain("no answer within 1 s");
  });
});

describe("waiting", () => {
  test.each([500, 503, 404, 401, 403])("ends well once the endpoint stops answering %i", async (status) => {
    const { origin, received } = await startServer(inRounds(status));
    await run(origin, inAMinute());
    expect(received.length).toBeGreaterThan(REQUESTS_OF_A_ROUND);
  });

  test("ends well once somebody listens", async () => {
    const port = await closedPort();
    const server = createServer((incoming, response) => {
      response.end(new URL(incoming.url ?? "", "http://endpoint").searchParams.get("hub_challenge"));
    });
    afterTests(() => server.close());
    const passed = run(`http://127.0.0.1:${port}/`, { deadline: inSeconds(8) });
    setTimeout(() => server.listen(port, "127.0.0.1"), 200);
    await passed;
    expect(server.listening).toBe(true);
  });

  test.each<[string, Answer]>([
    ["a wrong challenge", respond(200, "wrong")],
    ["a redirect", respond(302, "", { location: "https://other.example/" })],
    ["400", respond(400)],
    ["405", respond(405)],
    [
      "one encoding that is wrong for good, whatever the others are",
      (request, ...more) =>
        (encodingOf(request) === "json" ? respond(200, "wrong") : respond(503))(request, ...more),
    ],
  ])("is not done for %s", async (_, answer) => {
    const { origin, received } = await startServer(answer);
    await failureOf(run(origin, inAMinute()));
    expect(received).toHaveLength(REQUESTS_OF_A_ROUND);
  });

  test("says after two seconds what was seen and how many seconds are left", async () => {
    const { origin } = await startServer((...request) =>
      (lines.length === 0 ? respond(503) : answerHandshake())(...request),
    );
    await run(origin, inAMinute());
    // The line may come in the middle of a round, of which the rest passes then.
    expect(lines[0]).toMatch(
      /^acme: waiting for \S+ to answer the handshake, attempt \d+; so far form: HTTP 503; 5\d s left$/,
    );
  });

  test("for a port of this machine on which nothing listens ends after a few seconds", async () => {
    const begun = performance.now();
    const url = `http://127.0.0.1:${await closedPort()}/`;
    const error = await failureOf(run(url, { deadline: inSeconds(600) }));
    expect(error.transcript?.cause).toBe("connection_refused");
    expect(performance.now() - begun).toBeGreaterThan(3_000);
  });

  test("ends at the deadline, with the count of its rounds", async () => {
    const { origin, received } = await startServer(respond(503));
    const error = await failureOf(run(origin, { deadline: inSeconds(1) }));
    expect(error.attempts).toBeGreaterThan(1);
    expect(error.attempts).toBe(received.length / REQUESTS_OF_A_ROUND);
    expect(error.transcript?.rounds).toBe(error.attempts);
  });
});

describe("one encoding that passes is enough, and the others are named:", () => {
  test.each([
    ["form", "json"],
    ["json", "form"],
    ["multipart", "form", "json"],
    ["query", "form", "json", "multipart"],
  ])("%s, not %s", async (good, ...bad) => {
    const { origin, received } = await startServer((request, ...more) =>
      (encodingOf(request) === good ? answerHandshake() : respond(503))(request, ...more),
    );
    await run(origin, inAMinute());
    expect(received).toHaveLength(bad.length + 1);
    expect(lines).toEqual([expect.stringMatching(/^acme: the handshake passes, but not as /)]);
    for (const encoding of bad) expect(lines[0]).toContain(`not as ${encoding}: HTTP 503`);
    expect(lines[0]).not.toContain(`not as ${good}`);
  });
});

/** Answers with one status for each round, and passes after them. */
function inRounds(...statuses: number[]): Answer {
  return (request, response, index) => {
    const status = statuses[Math.floor(index / REQUESTS_OF_A_ROUND)];
    (status === undefined ? answerHandshake() : respond(status))(request, response, index);
  };
}

describe("an endpoint that refuses the token", () => {
  test("in the same way again and again is given up after as many rounds as were asked for", async () => {
    const { origin, received } = await startServer(inRounds(401, 401));
    const error = await failureOf(run(origin, { refusedRounds: 2, ...inAMinute() }));
    expect(error.transcript).toMatchObject({ rule: "token_refused", rounds: 2 });
    expect(received).toHaveLength(2 * REQUESTS_OF_A_ROUND);
  });

  test.each([
    ["if it answers otherwise in between", [401, 503, 401], 2],
    ["if it refuses in another way each time", [401, 403, 401], 2],
    ["always where no number is asked for", [401, 401], undefined],
  ])("is waited for %s", async (_, statuses, refusedRounds) => {
    const { origin, received } = await startServer(inRounds(...statuses));
    await run(origin, { refusedRounds, ...inAMinute() });
    expect(received.length).toBeGreaterThan(statuses.length * REQUESTS_OF_A_ROUND);
  });
});

describe("the mode", () => {
  test('"warn" makes one round and says what it saw, without recommending itself', async () => {
    const { origin, received } = await startServer(respond(503));
    await run(origin, { preflight: "warn", ...inAMinute() });
    expect(received).toHaveLength(REQUESTS_OF_A_ROUND);
    await run(`http://127.0.0.1:${await closedPort()}/`, { preflight: "warn" });
    expect(lines).toEqual([
      expect.stringMatching(/^acme: warning: the handshake with http.* failed: form: HTTP 503/),
      expect.not.stringContaining('preflight: "warn"'),
    ]);
  });

  test.each<[WebhookInputs["preflight"], Answer, number]>([
    ["warn", answerHandshake(), 2],
    ["off", respond(503), 0],
  ])('"%s" says nothing of a handshake that passes or is not made', async (mode, answer, requests) => {
    const { origin, received } = await startServer(answer);
    await run(origin, { preflight: mode });
    expect([received.length, lines]).toEqual([requests, []]);
  });
});

test("a service in the internet cannot reach a private address: nothing is sent, also by mode warn", async () => {
  const { origin, received } = await startServer(answerHandshake());
  const baseUrl = "https://93.184.216.34/";
  const error = await failureOf(run(origin, { baseUrl, ...inAMinute() }));
  expect(error.transcript).toMatchObject({ rule: "private_address", rounds: 0, steps: [] });
  await run(origin, { baseUrl, preflight: "warn" });
  expect(lines).toEqual([expect.stringMatching(/^acme: warning: .* loopback or private address/)]);
  expect(received).toEqual([]);
});

describe("the message", () => {
  test("has at most 12 lines, however much the endpoint says", async () => {
    const many = `line\n\u2028${"<p>\r\n".repeat(5000)}`;
    const { origin } = await startServer(respond(500, many, { "content-type": `text/${"x".repeat(5000)}` }));
    const { message } = await failureOf(run(origin));
    expect(message.split(/[\r\n\u2028]/).length).toBeLessThanOrEqual(12);
    expect(message.length).toBeLessThan(3000);
  });

  test("says in its first line what was seen, what it means and how to fix it", async () => {
    const { origin } = await startServer(answerChallenge((c) => JSON.stringify({ hub_challenge: c })));
    const { message, transcript } = await failureOf(run(`${origin}/hook`));
    const [first, ...more] = message.split("\n");
    expect(first).toBe(
      `the handshake with ${origin}/hook failed: form: HTTP 200, body "{"hub_challenge":"[redacted]"}" ` +
        "(the challenge stands inside JSON); set-webhook was not called. " +
        transcript?.hint.replace(/^./, (letter) => letter.toUpperCase()),
    );
    expect(more.map((line) => line.trim().split(":")[0])).toEqual([
      "address",
      "form, json, multipart, query",
      "attempts",
    ]);
  });
});

test("token and challenge, which the endpoint echoes, are in no text of the error", async () => {
  const { origin, received } = await startServer((request, response) => {
    const { hub_verify_token, hub_challenge } = parametersOf(request);
    const body = `${hub_verify_token} ${hub_challenge} ${request.path} ${request.body}`;
    response.writeHead(500, { "content-type": `text/plain; x=${encodeURIComponent(body)}` }).end(body);
  });
  const error = await failureOf(run(`${origin}/hook?token=query-value`));
  const challenges = received.map((one) => parametersOf(one)["hub_challenge"] ?? "?");
  const texts = [error.message, error.stack, JSON.stringify(error), JSON.stringify(error.transcript)].join(
    "\n",
  );
  expect(findSecrets(texts, [VERIFICATION_KEY, "query-value", ...challenges])).toEqual([]);
  expect(error.message).toContain("[redacted]");
});
