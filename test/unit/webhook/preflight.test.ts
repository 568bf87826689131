import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import type { ApiChatError, HandshakeRule } from "../../../provider/errors/index.js";
import { preflight, type PreflightOptions } from "../../../provider/webhook/preflight.js";
import { findSecrets } from "../../support/secrets.js";
import { closedPort, type Answer } from "../client/harness.js";
import { encodingOf } from "../diagnosis/harness.js";
import {
  VERIFICATION_KEY,
  afterTests,
  answerHandshake,
  failureOf,
  isolateRuns,
  parametersOf,
  startServer,
} from "./harness.js";

const lines = isolateRuns();

const run = (url: string, more: Partial<PreflightOptions> = {}): Promise<void> =>
  preflight({
    name: "acme",
    url,
    verificationKey: VERIFICATION_KEY,
    mode: "require",
    baseUrl: "http://127.0.0.1:9/",
    deadline: performance.now(),
    ...more,
  });

/** Of one in which all fail. */
const REQUESTS_OF_A_ROUND = 4;

const respond =
  (status: number, body = "", headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

test("the handshake is posted as form and as JSON, each with a challenge of its own", async () => {
  const { origin, received } = await startServer(answerHandshake());
  await run(`${origin}/hook?tenant=a%20b`);
  const sent = Object.fromEntries(received.map((one) => [one.headers["content-type"], one]));
  expect(Object.keys(sent).toSorted()).toEqual(["application/json", "application/x-www-form-urlencoded"]);
  for (const one of received) {
    expect(one.method).toBe("POST");
    expect(parametersOf(one)).toMatchObject({ hub_mode: "subscribe", hub_verify_token: VERIFICATION_KEY });
    expect(one.path).toBe("/hook?tenant=a%20b");
  }
  expect(Object.keys(JSON.parse(sent["application/json"]?.body ?? "") as object)).toHaveLength(3);
  expect(new Set(received.map((one) => parametersOf(one)["hub_challenge"])).size).toBe(2);
  expect(lines).toEqual([]);
});

test("the key goes into the query, and so into access logs, only if no body passes", async () => {
  const { origin, received } = await startServer((request, response, index) =>
    request.body === "" ? answerHandshake()(request, response, index) : void response.writeHead(400).end(),
  );
  await run(`${origin}/hook?tenant=a%20b`);
  expect(received.map(({ body }) => body === "")).toEqual([false, false, false, true]);
  expect(received[3]?.path).toMatch(/^\/hook\?tenant=a%20b&hub_mode=subscribe&/);
});

/** Answers the challenge as something else. */
const wrap = (wrapped: (challenge: string) => string): Answer => {
  return (request, response) => response.end(wrapped(parametersOf(request)["hub_challenge"] ?? ""));
};

describe("an endpoint that breaks a rule", () => {
  test.each<[string, Answer, HandshakeRule, number | undefined, RegExp]>([
    [
      "400",
      respond(400, "what?"),
      "status",
      400,
      /HTTP 400, body "what\?"; set-webhook was not called. Answer the handshake with status 200/,
    ],
    ["404", respond(404), "status", 404, /HTTP 404/],
    ["500", respond(500, "oops", { "content-type": "text/plain" }), "status", 500, /HTTP 500 text\/plain/],
    ["401", respond(401), "token_refused", 401, /same verification key/],
    ["403", respond(403), "token_refused", 403, /same verification key/],
    [
      "a redirect",
      respond(302, "", { location: "/login?next=query-value" }),
      "redirect",
      302,
      /\/login\?next=\*\*\*/,
    ],
    ["a 304", respond(304), "redirect", 304, /[Rr]egister the final URL/],
    [
      "HTML",
      respond(200, "<p>hi</p>", { "content-type": "text/html" }),
      "wrong_challenge",
      200,
      /"<p>hi<\/p>"/,
    ],
    ["no body", respond(200), "wrong_challenge", 200, /whole body, as plain text/],
    ["204", respond(204), "wrong_challenge", 204, /HTTP 204/],
    ["a line break behind the challenge", wrap((c) => `${c}\n`), "wrong_challenge", 200, /nothing else/],
    ["the challenge as JSON", wrap((c) => JSON.stringify(c)), "wrong_challenge", 200, /nothing else/],
    ["the challenge and more", wrap((c) => c.padEnd(100_000)), "wrong_challenge", 200, /nothing else/],
  ])("(%s) fails with its transcript", async (_, answer, rule, httpStatus, text) => {
    const { origin } = await startServer(answer);
    const error = await failureOf(run(`${origin}/hook?token=query-value`));
    expect(error).toMatchObject({
      code: "handshake_failed",
      operation: "handshake",
      attempts: 1,
      httpStatus,
    });
    expect(error.message).toMatch(text);
    expect(error.message).toContain("set-webhook was not called");
    expect(error.message).not.toContain("query-value");
    expect(error.transcript).toMatchObject({
      url: `${origin}/hook?token=***`,
      addresses: ["127.0.0.1"],
      rounds: 1,
      rule,
      steps: ["form", "json", "multipart", "query"].map((encoding) => ({ encoding, rule, httpStatus })),
    });
    expect(error.hints).toEqual([{ id: "fix_endpoint" }]);
  });

  test("(a connection that is refused) is unreachable", async () => {
    const error = await failureOf(run(`http://127.0.0.1:${await closedPort()}/`));
    expect(error.transcript).toMatchObject({ rule: "unreachable", addresses: ["127.0.0.1"] });
    expect(error.transcript?.steps[0]?.connectError).toContain("ECONNREFUSED");
    expect(error.httpStatus).toBeUndefined();
  });

  test("(a connection that is closed) is unreachable", async () => {
    const { origin } = await startServer((_, response) => response.socket?.destroy());
    expect((await failureOf(run(origin))).transcript?.rule).toBe("unreachable");
  });

  test("(no TLS behind an https URL) is named so", async () => {
    const { origin } = await startServer(answerHandshake());
    const error = await failureOf(run(origin.replace("http:", "https:")));
    expect(error.transcript?.rule).toBe("tls");
    expect(error.message).toContain("certificate");
  });

  test("(silence) is given up a second after the deadline at the latest", async () => {
    const { origin } = await startServer(() => undefined);
    const error = await failureOf(run(origin));
    expect(error.transcript?.rule).toBe("no_answer");
    expect(error.message).toContain("no answer within 1 s");
    expect(error.message).toContain("before any other work");
  });

  test("in several ways is told by the answer that says most", async () => {
    const { origin } = await startServer((request, response) => {
      if (request.headers["content-type"] === "application/json") response.end("not the challenge");
      else if (request.body === "") response.writeHead(404).end();
      else response.socket?.destroy();
    });
    const { transcript } = await failureOf(run(origin));
    expect(transcript?.rule).toBe("wrong_challenge");
    expect(transcript?.steps.map(({ rule }) => rule)).toEqual([
      "unreachable",
      "wrong_challenge",
      "unreachable",
      "status",
    ]);
  });
});

const inSeconds = (seconds: number): number => performance.now() + seconds * 1000;

describe("waiting", () => {
  test.each([500, 503, 404, 401, 403])("ends well once the endpoint stops answering %i", async (status) => {
    const { origin, received } = await startServer((request, response, index) =>
      index < REQUESTS_OF_A_ROUND
        ? respond(status)(request, response, index)
        : answerHandshake()(request, response, index),
    );
    await run(origin, { deadline: inSeconds(5) });
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
  ])("is not done for %s", async (_, answer) => {
    const { origin, received } = await startServer(answer);
    await failureOf(run(origin, { deadline: inSeconds(60) }));
    expect(received).toHaveLength(REQUESTS_OF_A_ROUND);
  });

  test("is not done if one encoding is wrong for good, whatever the others are", async () => {
    const { origin, received } = await startServer((request, response, index) =>
      (request.headers["content-type"] === "application/json" ? respond(200, "wrong") : respond(503))(
        request,
        response,
        index,
      ),
    );
    await failureOf(run(origin, { deadline: inSeconds(60) }));
    expect(received).toHaveLength(REQUESTS_OF_A_ROUND);
  });

  test("says after two seconds what was seen and how many seconds are left", async () => {
    const { origin } = await startServer((request, response, index) =>
      (lines.length === 0 ? respond(503) : answerHandshake())(request, response, index),
    );
    await run(origin, { deadline: inSeconds(60) });
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
    const begun = performance.now();
    const error = await failureOf(run(origin, { deadline: inSeconds(1) }));
    expect(performance.now() - begun).toBeLessThan(1500);
    expect(error.attempts).toBe(received.length / REQUESTS_OF_A_ROUND);
    expect(error.attempts).toBeGreaterThan(1);
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
    const { origin, received } = await startServer((request, response, index) => {
      if (encodingOf(request) === good) answerHandshake()(request, response, index);
      else response.writeHead(503).end("not so");
    });
    await run(origin, { deadline: performance.now() + 60_000 });
    expect(received).toHaveLength(bad.length + 1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^acme: the handshake passes, but not as /);
    for (const encoding of bad) expect(lines[0]).toContain(`not as ${encoding}: HTTP 503`);
    expect(lines[0]).not.toContain(`not as ${good}`);
  });
});

/** Answers with one status for each round, and passes after them. */
const inRounds =
  (...statuses: number[]): Answer =>
  (request, response, index) => {
    const status = statuses[Math.floor(index / REQUESTS_OF_A_ROUND)];
    if (status === undefined) return answerHandshake()(request, response, index);
    return response.writeHead(status).end();
  };

describe("an endpoint that refuses the token", () => {
  test("in the same way again and again is given up after as many rounds as were asked for", async () => {
    const { origin, received } = await startServer(inRounds(401, 401));
    const error = await failureOf(run(origin, { refusedRounds: 2, deadline: performance.now() + 60_000 }));
    expect(error.transcript).toMatchObject({ rule: "token_refused", rounds: 2 });
    expect(received).toHaveLength(2 * REQUESTS_OF_A_ROUND);
  });

  test("is waited for if it answers otherwise in between, and always where no number is asked for", async () => {
    const changing = await startServer(inRounds(401, 503, 401));
    await run(changing.origin, { refusedRounds: 2, deadline: performance.now() + 60_000 });
    expect(changing.received.length).toBeGreaterThan(3 * REQUESTS_OF_A_ROUND);
    const steady = await startServer(inRounds(401, 401));
    await run(steady.origin, { deadline: performance.now() + 60_000 });
    expect(steady.received.length).toBeGreaterThan(2 * REQUESTS_OF_A_ROUND);
  });
});

describe("the mode", () => {
  test('"warn" makes one round and says what it saw', async () => {
    const { origin, received } = await startServer(respond(503));
    await run(origin, { mode: "warn", deadline: performance.now() + 60_000 });
    expect(received).toHaveLength(REQUESTS_OF_A_ROUND);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^acme: warning: the handshake with http.* failed: form: HTTP 503/);
  });

  test('"warn" does not recommend itself', async () => {
    await run(`http://127.0.0.1:${await closedPort()}/`, { mode: "warn" });
    expect(lines).toEqual([expect.not.stringContaining('preflight: "warn"')]);
    const required = await failureOf(run(`http://127.0.0.1:${await closedPort()}/`));
    expect(required.message).toContain('preflight: "warn"');
  });

  test('"warn" says nothing of a handshake that passes', async () => {
    const { origin } = await startServer(answerHandshake());
    await run(origin, { mode: "warn" });
    expect(lines).toEqual([]);
  });

  test('"off" sends nothing', async () => {
    const { origin, received } = await startServer(respond(503));
    await run(origin, { mode: "off" });
    expect([received, lines]).toEqual([[], []]);
  });
});

describe("a service in the internet", () => {
  const baseUrl = "https://93.184.216.34/";

  test.each([
    "http://127.0.0.1:9/",
    "http://localhost:9/",
    "http://10.1.2.3/",
    "http://[::1]:9/",
    "http://192.168.1.1/",
  ])("cannot reach %s, so nothing is sent", async (url) => {
    const error = await failureOf(run(url, { baseUrl, deadline: performance.now() + 60_000 }));
    expect(error.transcript).toMatchObject({ rule: "private_address", rounds: 0, steps: [] });
    expect(error.message).toContain(
      "is a loopback or private address, which the service at https://93.184.216.34/",
    );
    expect(error.message).toContain("tunnel");
  });

  test('may be said to reach it all the same: "warn"', async () => {
    const { origin, received } = await startServer(answerHandshake());
    await run(origin, { baseUrl, mode: "warn" });
    expect(lines[0]).toContain("acme: warning: ");
    expect(lines[0]).toContain("loopback or private address");
    expect(received).toEqual([]);
  });
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
    const { origin } = await startServer(wrap((c) => JSON.stringify({ hub_challenge: c })));
    const { message, transcript } = await failureOf(run(`${origin}/hook`));
    expect(transcript).toMatchObject({ cause: "challenge_in_json", rule: "wrong_challenge" });
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

  test("names the way out where this machine may be the one that cannot reach the endpoint", async () => {
    const unreachable = await failureOf(run(`http://127.0.0.1:${await closedPort()}/`));
    expect(unreachable.hints).toContainEqual({ id: "warn_only", unless: "unreachable" });
    const { origin } = await startServer(respond(404));
    expect((await failureOf(run(origin))).hints).toEqual([{ id: "fix_endpoint" }]);
  });
});

test("a wrong token is never tried", async () => {
  const { origin, received } = await startServer((request, response) => {
    response.end(parametersOf(request)["hub_challenge"]);
  });
  await run(origin);
  expect(received.map((one) => parametersOf(one)["hub_verify_token"])).toEqual([
    VERIFICATION_KEY,
    VERIFICATION_KEY,
  ]);
  expect(lines).toEqual([]);
});

const textsOf = (error: ApiChatError): string =>
  [error.message, error.stack, JSON.stringify(error), JSON.stringify(error.transcript)].join("\n");

describe("token and challenge", () => {
  const echoes: Record<string, (text: string) => string> = {
    "as they are": (text) => text,
    "as JSON": (text) => JSON.stringify(text),
    "URL-encoded": encodeURIComponent,
    "in base64": (text) => Buffer.from(text).toString("base64"),
    "in hex": (text) => Buffer.from(text).toString("hex"),
  };

  test.each(Object.entries(echoes))(
    "that the endpoint echoes %s are not in the transcript",
    async (_, echo) => {
      const { origin, received } = await startServer((request, response) => {
        const { hub_verify_token = "", hub_challenge = "" } = parametersOf(request);
        const body = `${echo(hub_verify_token)} ${echo(hub_challenge)} ${request.path} ${request.body}`;
        response.writeHead(500, { "content-type": `text/plain; x=${encodeURIComponent(body)}` }).end(body);
      });
      const error = await failureOf(run(`${origin}/hook?token=query-value`));
      const challenges = received.map((one) => parametersOf(one)["hub_challenge"] ?? "?");
      expect(findSecrets(textsOf(error), [VERIFICATION_KEY, "query-value", ...challenges])).toEqual([]);
      expect(error.message).toContain("[redacted]");
    },
  );

  test("that a redirect holds are not in the transcript", async () => {
    const { origin, received } = await startServer((request, response) => {
      const body = request.body.replaceAll(/[\r\n]+/g, " ");
      response.writeHead(307, { location: `https://other.example${request.path}&${body}` }).end();
    });
    const error = await failureOf(run(`${origin}/${VERIFICATION_KEY.slice(0, 2)}`));
    const challenges = received.map((one) => parametersOf(one)["hub_challenge"] ?? "?");
    expect(findSecrets(textsOf(error), [VERIFICATION_KEY, ...challenges])).toEqual([]);
    expect(error.message).toContain("https://other.example/");
  });
});
