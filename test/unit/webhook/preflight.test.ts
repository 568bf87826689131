import { beforeEach, describe, expect, test, vi } from "vitest";
import type { HandshakeCause, HandshakeEncoding } from "../../../provider/diagnosis/index.js";
import { diagnoseHandshake } from "../../../provider/diagnosis/diagnose.js";
import { backOffMs } from "../../../provider/lib/retry.js";
import type { WantedWebhook } from "../../../provider/registration/index.js";
import { tryHandshake, type TryHandshakeOptions } from "../../../provider/registration/try-handshake.js";
import { freePort, startServer, type Answer } from "../../support/http.js";
import { answerChallenge, answerHandshake, encodingOf, respond } from "../diagnosis/harness.js";
import { VERIFICATION_KEY, failureOf, isolateRuns, startCreated, update } from "./harness.js";

/** Pauses end at once and advance the clock, which does not count the real time of handshakes. */
vi.mock(import("../../../provider/lib/abort.js"), async (load) => ({
  ...(await load()),
  sleep: async (ms) => void vi.advanceTimersByTime(ms),
}));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  return () => void vi.useRealTimers();
});

/** Spies record the arguments of each round. */
vi.mock(import("../../../provider/diagnosis/diagnose.js"), { spy: true });
vi.mock(import("../../../provider/lib/retry.js"), { spy: true });

const lines = isolateRuns();

type Settings = Partial<Pick<WantedWebhook, "preflight" | "baseUrl"> & TryHandshakeOptions>;

/** Runs a preflight: a single round, unless the deadline leaves more time. */
const run = (url: string, { deadline = performance.now(), rejectedRounds, ...inputs }: Settings = {}) =>
  tryHandshake(
    {
      name: "acme",
      webhookUrl: url,
      webhookVerificationKey: VERIFICATION_KEY,
      baseUrl: "http://127.0.0.1:9/",
      ...inputs,
    },
    { deadline, rejectedRounds },
  );

const inSeconds = (seconds: number) => ({ deadline: performance.now() + seconds * 1000 });
const inAMinute = () => inSeconds(60);
const startNobody = async (): Promise<string> => `http://127.0.0.1:${await freePort()}/`;

/** The number of requests in a round in which all encodings fail. */
const REQUESTS_OF_A_ROUND = 4;

/** Responds with `answer` to one encoding, and with 503 to the others. */
const answerAs =
  (encoding: HandshakeEncoding, answer: Answer): Answer =>
  (request, ...more) =>
    (encodingOf(request) === encoding ? answer : respond(503))(request, ...more);

/** Responds with the next status in each round, and then passes the handshake. */
const inRounds =
  (...statuses: number[]): Answer =>
  (request, response, index) => {
    const status = statuses[Math.floor(index / REQUESTS_OF_A_ROUND)];
    (status === undefined ? answerHandshake() : respond(status))(request, response, index);
  };

test("one passing encoding is enough, and the failing ones are reported", async () => {
  const { url } = await startServer(answerAs("query", answerHandshake()));
  await run(url, inAMinute());
  const others = ["form", "json", "multipart"].map((encoding) => `not as ${encoding}: HTTP 503`);
  expect(lines).toEqual([`acme: the handshake passes, but ${others.join("; ")}`]);
});

describe("a failing endpoint", () => {
  test.each<[string, number, Answer]>([
    ["token_refused", 401, respond(401)],
    ["redirect", 302, respond(302, "", { location: "/login?next=query-value" })],
    ["wrong_challenge", 200, answerChallenge((c) => c.padEnd(100_000))],
  ])("causes an error with a transcript: %s", async (rule, httpStatus, answer) => {
    const { url } = await startServer(answer);
    const error = await failureOf(run(`${url}/hook?token=query-value`));
    const at = `${url}/hook?token=***`;
    expect(error).toMatchObject({
      code: "handshake_failed",
      operation: "handshake",
      attempts: 1,
      httpStatus,
      facts: { at },
      hints: [{ id: "fix_endpoint" }],
      transcript: {
        url: at,
        addresses: ["127.0.0.1"],
        rounds: 1,
        rule,
        steps: ["form", "json", "multipart", "query"].map((encoding) => ({ encoding, rule, httpStatus })),
      },
    });
    expect(error.summary).toContain("set-webhook was not called");
    expect(error.message).not.toContain("query-value");
  });

  test("causes a hint if the service may reach it although this machine cannot", async () => {
    const error = await failureOf(run(await startNobody()));
    expect(error.transcript).toMatchObject({ rule: "unreachable", addresses: ["127.0.0.1"] });
    expect(error.httpStatus).toBeUndefined();
    expect(error.hints).toContainEqual({ id: "warn_only", unless: "unreachable" });
  });
});

describe("waiting", () => {
  test.each<[statuses: number[], rejectedRounds?: number]>([
    [[503]],
    [[404]],
    [[401, 401]],
    [[401, 503, 401], 2],
    [[401, 403, 401], 2],
  ])("succeeds once the endpoint stops responding with %j", async (statuses, rejectedRounds) => {
    const { url, requests } = await startServer(inRounds(...statuses));
    await run(url, { rejectedRounds, ...inAMinute() });
    expect(requests.length).toBeGreaterThan(statuses.length * REQUESTS_OF_A_ROUND);
  });

  test.each<[string, Answer]>([
    ["a wrong challenge", respond(200, "wrong")],
    ["a redirect", respond(302, "", { location: "https://other.example/" })],
    ["400", respond(400)],
    ["a wrong challenge in one encoding and 503 in the others", answerAs("json", respond(200, "wrong"))],
  ])("is skipped for %s", async (_, answer) => {
    const { url, requests } = await startServer(answer);
    await failureOf(run(url, inAMinute()));
    expect(requests).toHaveLength(REQUESTS_OF_A_ROUND);
  });

  test("reports progress after two seconds, with the seconds left", async () => {
    const { url } = await startServer((...request) =>
      (lines.length === 0 ? respond(503) : answerHandshake())(...request),
    );
    await run(url, inAMinute());
    expect(lines[0]).toMatch(
      /^acme: waiting for \S+ to answer the handshake, attempt \d; so far form: HTTP 503; 5\d s left$/,
    );
  });

  test.each<[string, () => Promise<string>, number]>([
    ["at the deadline", async () => (await startServer(respond(503))).url, 600],
    ["after ten seconds if the URL is a closed local port", startNobody, 10],
  ])("ends %s, and the error contains the number of rounds", async (_, start, seconds) => {
    const url = await start();
    const begun = performance.now();
    vi.mocked(diagnoseHandshake).mockClear();
    const error = await failureOf(run(url, inSeconds(600)));
    expect(performance.now() - begun).toBe(seconds * 1000);
    expect(error.attempts).toBe(vi.mocked(diagnoseHandshake).mock.calls.length);
    expect(error.transcript?.rounds).toBe(error.attempts);
  });
});

const startWith = (status: number) => async (): Promise<string> => (await startServer(respond(status))).url;

test.each<[HandshakeCause, number, () => Promise<string>, rejectedRounds?: number]>([
  ["name_not_resolved", 3, async () => `http://${"x".repeat(64)}.invalid/`],
  ["tls_not_spoken", 3, async () => (await startServer()).url.replace("http:", "https:")],
  ["unauthorized", 6, startWith(401)],
  ["unauthorized", 2, startWith(401), 2],
])("an unchanged cause, %s, ends the wait after %i rounds", async (cause, rounds, start, rejectedRounds) => {
  vi.mocked(backOffMs).mockReturnValueOnce(3_000);
  const error = await failureOf(run(await start(), { rejectedRounds, ...inAMinute() }));
  expect(error).toMatchObject({ attempts: rounds, transcript: { cause, rounds } });
  expect(lines).toEqual([expect.stringMatching(/attempt \d; so far form: .*; attempts left: \d$/)]);
});

test.each([
  ["retries for readySeconds if this run changes the key", "next-key-0123456789", { status: "verified" }],
  ["fails early if this run does not change the key", VERIFICATION_KEY, { code: "handshake_failed" }],
])("an update with a rejected key %s", async (_, webhookVerificationKey, outcome) => {
  const { state, args } = await startCreated();
  const refuse = respond(401);
  const { url: webhookUrl } = await startServer((request, response, index) => {
    const answer = index < 10 * REQUESTS_OF_A_ROUND ? refuse : answerHandshake(webhookVerificationKey);
    answer(request, response, index);
  });
  const timeouts = { readySeconds: 60, requestSeconds: 3 };
  const news = { ...args, webhookUrl, webhookVerificationKey, timeouts };
  expect(await update(state, news).catch((error: unknown) => error)).toMatchObject(outcome);
});

test('the mode "warn" makes one round and prints a warning', async () => {
  const { url, requests } = await startServer(respond(503));
  await run(url, { preflight: "warn", ...inAMinute() });
  expect(requests).toHaveLength(REQUESTS_OF_A_ROUND);
  await run(await startNobody(), { preflight: "warn" });
  expect(lines).toEqual([
    expect.stringMatching(/^acme: warning: the handshake with http.* failed: form: HTTP 503/),
    expect.not.stringContaining('preflight: "warn"'),
  ]);
});

test("a private address is not tried if the service is on the internet", async () => {
  const { url, requests } = await startServer(answerHandshake());
  const error = await failureOf(run(url, { baseUrl: "https://93.184.216.34/", ...inAMinute() }));
  expect(error.transcript).toMatchObject({ rule: "private_address", rounds: 0, steps: [] });
  expect(requests).toEqual([]);
});
