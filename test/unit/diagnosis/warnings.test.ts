import { describe, expect, test } from "vitest";
import { verifySignature } from "../../../provider/responder/index.js";
import type { HandshakeEncoding } from "../../../provider/diagnosis/index.js";
import { startServer, VERIFICATION_KEY, type Answer } from "../client/harness.js";
import { answerHandshake, parametersOf } from "../webhook/harness.js";
import { diagnose, diagnoseFailure, encodingOf, respond } from "./harness.js";

const serviceUrl = "http://127.0.0.1:9/";

test("an endpoint that does all right passes without a warning", async () => {
  const { origin, received } = await startServer(answerHandshake());
  const diagnosis = await diagnose(`${origin}/hook?token=query-value`, { serviceUrl });
  expect(diagnosis).toEqual({
    passed: true,
    warnings: [],
    transcript: {
      url: `${origin}/hook?token=***`,
      addresses: ["127.0.0.1"],
      rounds: 1,
      steps: ["form", "json"].map((encoding) => ({
        encoding,
        httpStatus: 200,
        ms: expect.any(Number) as number,
      })),
    },
  });
  expect(received).toHaveLength(2);
});

/** Answers one encoding, and refuses the others. */
const answerOnly =
  (encoding: HandshakeEncoding): Answer =>
  (request, response, index) =>
    (encodingOf(request) === encoding ? answerHandshake() : respond(400, "not so"))(request, response, index);

test.each(["form", "json", "multipart", "query"] as const)(
  "right only when sent as %s is a warning",
  async (encoding) => {
    const { origin } = await startServer(answerOnly(encoding));
    const { passed, warnings } = await diagnose(origin, { serviceUrl });
    expect(passed).toBe(true);
    expect(warnings.map(({ code }) => code)).toEqual([`only_as_${encoding}`]);
    expect(warnings[0]?.text).toContain('HTTP 400, body "not so"');
  },
);

/** Answers anyone with the challenge, and with this status. */
const answerWith =
  (statusOf: (encoding: HandshakeEncoding) => number): Answer =>
  (request, response) =>
    void response.writeHead(statusOf(encodingOf(request))).end(parametersOf(request)["hub_challenge"]);

describe("the right challenge with another 2xx than 200", () => {
  test("passes with a warning", async () => {
    const { origin } = await startServer(answerWith(() => 201));
    const { passed, warnings } = await diagnose(origin, { serviceUrl });
    expect(passed).toBe(true);
    expect(warnings.map(({ code }) => code)).toEqual(["not_200"]);
    expect(warnings[0]?.text).toContain("with HTTP 201; the specification only says");
  });

  test("is a warning also where only one encoding gets it", async () => {
    const { origin } = await startServer(answerWith((encoding) => (encoding === "json" ? 202 : 200)));
    const { warnings } = await diagnose(origin, { serviceUrl });
    expect(warnings.map(({ text }) => text)).toEqual([expect.stringContaining("with HTTP 202;")]);
  });
});

const late: Answer = (request, response, index) =>
  void setTimeout(() => answerHandshake()(request, response, index), 150);

describe("an answer that takes long", () => {
  test("is a warning", async () => {
    const { origin } = await startServer(late);
    const { passed, warnings } = await diagnose(origin, { serviceUrl, slowMs: 100 });
    expect(passed).toBe(true);
    expect(warnings.map(({ code }) => code)).toEqual(["slow"]);
    expect(warnings[0]?.text).toMatch(/takes 0\.[12] s to answer/);
  });

  test("is none below five seconds", async () => {
    const { origin } = await startServer(late);
    expect((await diagnose(origin, { serviceUrl })).warnings).toEqual([]);
  });
});

const answerAnyone: Answer = (request, response) => void response.end(parametersOf(request)["hub_challenge"]);

describe("a token that is not checked", () => {
  test("is a warning, where it is probed for", async () => {
    const { origin, received } = await startServer(answerAnyone);
    const { passed, warnings } = await diagnose(origin, { serviceUrl, probeToken: true });
    expect(passed).toBe(true);
    expect(warnings.map(({ code }) => code)).toEqual(["token_not_checked"]);
    expect(received.map((one) => parametersOf(one)["hub_verify_token"] === VERIFICATION_KEY)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("is not probed for unless asked", async () => {
    const { origin, received } = await startServer(answerAnyone);
    expect((await diagnose(origin, { serviceUrl })).warnings).toEqual([]);
    expect(received).toHaveLength(2);
  });

  test("is probed for in the encoding that passed", async () => {
    const { origin, received } = await startServer((request, response, index) =>
      (encodingOf(request) === "json" ? answerAnyone : respond(400))(request, response, index),
    );
    const { warnings } = await diagnose(origin, { serviceUrl, probeToken: true });
    expect(warnings.map(({ code }) => code)).toEqual(["only_as_json", "token_not_checked"]);
    expect(received.map(encodingOf).at(-1)).toBe("json");
  });

  test("is no warning of one that refuses a wrong token", async () => {
    const { origin, received } = await startServer(answerHandshake());
    expect((await diagnose(origin, { serviceUrl, probeToken: true })).warnings).toEqual([]);
    expect(received).toHaveLength(3);
  });
});

/** Lets only signed requests through. */
const demandSignature: Answer = (request, response, index) => {
  const signature = request.headers["x-hub-signature-256"];
  void verifySignature({ verificationKeys: VERIFICATION_KEY, body: request.body, signature }).then(
    (isSigned) => (isSigned ? answerHandshake() : respond(403))(request, response, index),
  );
};

describe("a signature that is demanded without a word", () => {
  test("is found by a handshake with one, where it is probed for", async () => {
    const { origin, received } = await startServer(demandSignature);
    const diagnosis = await diagnoseFailure(origin, { probeSignature: true });
    expect(diagnosis).toMatchObject({ cause: "signature_demanded", transcript: { rule: "token_refused" } });
    expect(received).toHaveLength(5);
  });

  test("is not probed for unless asked", async () => {
    const { origin, received } = await startServer(demandSignature);
    expect((await diagnoseFailure(origin)).cause).toBe("forbidden");
    expect(received).toHaveLength(4);
  });

  test("is not said of an endpoint that refuses a signed handshake too", async () => {
    const { origin } = await startServer(respond(401));
    expect((await diagnoseFailure(origin, { probeSignature: true })).cause).toBe("unauthorized");
  });
});
