import { describe, expect, test } from "vitest";
import { createChallenge, numberOf } from "../../../provider/diagnosis/handshake.js";
import { describeRecord } from "../../../provider/diagnosis/describe.js";
import { findSecrets } from "../../support/secrets.js";
import { startServer, type Answer, type Received } from "../../support/http.js";
import { VERIFICATION_KEY } from "../client/harness.js";
import { diagnose, diagnoseFailure, encodingOf, parametersOf, respond } from "./harness.js";

describe("a challenge", () => {
  const challenges = Array.from({ length: 500 }, createChallenge);

  test("is letters of both cases and digits, never twice the same", () => {
    for (const challenge of challenges)
      expect(challenge).toMatch(/^(?=.*[a-z])(?=.*[A-Z])[1-9]\d{7}[a-zA-Z0-9]{27}$/);
    expect(new Set(challenges).size).toBe(challenges.length);
  });

  test("loses all but its first eight digits to a number parser", () => {
    for (const challenge of challenges) {
      expect(numberOf(challenge)).toBe(challenge.slice(0, 8));
      expect(Number.parseFloat(challenge)).toBe(Number(challenge.slice(0, 8)));
      expect(Number(challenge)).toBeNaN();
    }
  });
});

const linesOf = async (answer: Answer): Promise<string[]> => {
  const { url } = await startServer(answer);
  return describeRecord((await diagnose(url)).transcript);
};

describe("the lines of a record", () => {
  test("say once what came of several encodings, with the time of each", async () => {
    const [address, ...lines] = await linesOf(respond(401, "who are you?"));
    expect(address).toBe("address: 127.0.0.1");
    expect(lines).toEqual([
      expect.stringMatching(
        /^form, json, multipart, query: HTTP 401, body "who are you\?", \d+, \d+, \d+, \d+ ms$/,
      ),
      "attempts: 1",
    ]);
  });

  test("keep apart what differs", async () => {
    const [, ...lines] = await linesOf((request, response, index) =>
      respond(encodingOf(request) === "json" ? 415 : 404)(request, response, index),
    );
    expect(lines).toEqual([
      expect.stringMatching(/^form, multipart, query: HTTP 404, \d+, \d+, \d+ ms$/),
      expect.stringMatching(/^json: HTTP 415, \d+ ms$/),
      "attempts: 1",
    ]);
  });
});

const secretsOf = (requests: readonly Received[]): string[] => [
  VERIFICATION_KEY,
  ...requests.map((one) => parametersOf(one)["hub_challenge"] ?? "?"),
];

describe("a transcript", () => {
  test.each([
    ["a long body", "x".repeat(100_000)],
    ["a long body of wide characters", "€😀".repeat(10_000)],
    ["a long title", `<!doctype html><title>${"ü".repeat(1000)}</title>`],
  ])("quotes at most 200 bytes of %s", async (_, body) => {
    const { url } = await startServer(respond(200, body, { "content-type": `x/${"y".repeat(3000)}` }));
    const { transcript } = await diagnoseFailure(url);
    for (const { firstBytes = "", title = "", contentType = "" } of transcript.steps) {
      expect(Buffer.byteLength(firstBytes + title)).toBeGreaterThan(190);
      expect(Buffer.byteLength(firstBytes + title)).toBeLessThanOrEqual(200);
      expect(Buffer.byteLength(contentType)).toBeLessThanOrEqual(200);
      expect(firstBytes + title).not.toContain("\ufffd");
    }
  });

  test("shows neither token nor challenge to an echo of them", async () => {
    const { url, requests } = await startServer((request, response) => {
      const { hub_verify_token = "", hub_challenge = "" } = parametersOf(request);
      const echo = `${hub_verify_token} ${Buffer.from(`a${hub_challenge}`).toString("base64url")}`;
      response.writeHead(200, { "x-no": "1", location: `/x/${encodeURIComponent(echo)}` }).end(echo);
    });
    const diagnosis = await diagnoseFailure(url);
    expect(findSecrets(JSON.stringify(diagnosis), secretsOf(requests))).toEqual([]);
    expect(diagnosis.reason).toContain("[redacted]");
  });

  test("shows no piece of a secret that is cut where reading ends", async () => {
    const key = "k".repeat(100) + "0123456789".repeat(10);
    const { url } = await startServer(respond(500, key.repeat(100)));
    const { transcript } = await diagnose(url, { verificationKey: key });
    for (const { firstBytes = "" } of transcript.steps) expect(firstBytes).toMatch(/^(\[redacted\])+$/);
  });

  test("shows no piece of a challenge that was read as a number", async () => {
    const { url } = await startServer((request, response) =>
      response.end(String(Number.parseInt(parametersOf(request)["hub_challenge"] ?? "", 10))),
    );
    expect((await diagnoseFailure(url)).reason).toContain('body "[redacted]"');
  });

  test("shows no challenge of another encoding either", async () => {
    const challenges: string[] = [];
    const answerWithAll: Answer = (request, response) => {
      challenges.push(parametersOf(request)["hub_challenge"] ?? "");
      // Both of the first requests are answered once both are there, each with what the other got.
      pending.push(() => response.end(challenges.join(" ")));
      if (pending.length > 1) for (const answer of pending) answer();
    };
    const pending: (() => void)[] = [];
    const { url } = await startServer(answerWithAll);
    const diagnosis = await diagnoseFailure(url);
    expect(challenges).toHaveLength(4);
    expect(findSecrets(JSON.stringify(diagnosis), challenges)).toEqual([]);
  });
});
