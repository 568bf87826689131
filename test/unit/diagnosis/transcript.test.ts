import { describe, expect, test } from "vitest";
import { createChallenge, numberOf } from "../../../provider/diagnosis/handshake.js";
import { findSecrets } from "../../support/secrets.js";
import { startServer, type Received } from "../../support/http.js";
import { VERIFICATION_KEY } from "../client/harness.js";
import { diagnose, diagnoseFailure, parametersOf, respond } from "./harness.js";

test("a challenge is random, mixes upper and lower case, and begins with an eight-digit number", () => {
  const challenges = Array.from({ length: 500 }, createChallenge);
  for (const challenge of challenges) {
    expect(challenge).toMatch(/^(?=.*[a-z])(?=.*[A-Z])[1-9]\d{7}[a-zA-Z0-9]{26}$/);
    expect(numberOf(challenge)).toBe(challenge.slice(0, 8));
    expect(Number.parseFloat(challenge)).toBe(Number(challenge.slice(0, 8)));
    expect(Number(challenge)).toBeNaN();
  }
  expect(new Set(challenges).size).toBe(challenges.length);
});

const secretsOf = (requests: readonly Received[]): string[] => [
  VERIFICATION_KEY,
  ...requests.map((one) => parametersOf(one)["hub_challenge"] ?? "?"),
];

describe("a transcript", () => {
  test.each([
    ["a long body", "x".repeat(100_000)],
    ["a long body of multi-byte characters", "€😀".repeat(10_000)],
    ["a long title", `<!doctype html><title>${"ü".repeat(1000)}</title>`],
  ])("quotes at most 200 characters of %s", async (_, body) => {
    const { url } = await startServer(respond(200, body, { "content-type": `x/${"y".repeat(3000)}` }));
    const { transcript } = await diagnoseFailure(url);
    for (const { firstBytes, title, contentType } of transcript.steps) {
      const quoted = firstBytes ?? title ?? "";
      expect(Array.from(quoted)).toHaveLength(201);
      expect(quoted).toMatch(/^\P{Surrogate}*…$/u);
      expect(contentType).toHaveLength(201);
    }
  });

  test("shows neither the token nor the challenge, even if the endpoint echoes them", async () => {
    const { url, requests } = await startServer((request, response) => {
      const { hub_verify_token = "", hub_challenge = "" } = parametersOf(request);
      const echo = `${hub_verify_token} ${Buffer.from(`a${hub_challenge}`).toString("base64url")}`;
      response.writeHead(200, { "x-no": "1", location: `/x/${encodeURIComponent(echo)}` }).end(echo);
    });
    const diagnosis = await diagnoseFailure(url);
    expect(findSecrets(JSON.stringify(diagnosis), secretsOf(requests))).toEqual([]);
    expect(diagnosis.reason).toContain("[redacted]");
  });

  test("shows no part of a secret, even if the quote ends in the middle of the secret", async () => {
    const key = "k".repeat(100) + "0123456789".repeat(10);
    const { url } = await startServer(respond(500, key.repeat(100)));
    const { transcript } = await diagnose(url, { verificationKey: key });
    for (const { firstBytes = "" } of transcript.steps) expect(firstBytes).toMatch(/^(\[redacted\])+$/);
  });
});
