import { expect, test } from "vitest";
import type { HandshakeEncoding } from "../../../provider/errors/index.js";
import type { Answer as Respond } from "../../support/http.js";
import { expectMatchesWebhook } from "../../support/openapi.js";
import { answerAnyToken, parametersOf } from "../diagnosis/harness.js";
import { set, startAcme, startEndpoint, type Received } from "./harness.js";

test.each<[HandshakeEncoding, string | undefined]>([
  ["form", "application/x-www-form-urlencoded"],
  ["json", "application/json"],
  ["multipart", expect.stringContaining("multipart/form-data; boundary=")],
  ["query", undefined],
])(
  "the handshake sends its three parameters as %s, matches schema/openapi.json, and is recorded",
  async (encoding, type) => {
    const { acme } = await startAcme({ handshake: { encoding } });
    const { url, received } = await startEndpoint();
    const key = 'a "key" & é';
    expect((await set(acme, `${url}?token=a%20b`, key)).status).toBe(200);
    const [handshake] = received as [Received];
    const sent = { method: "POST", path: expect.stringContaining("/webhook?token=a%20b") };
    expect(handshake).toMatchObject(sent);
    expect(handshake.headers["content-type"]).toEqual(type);
    const [record] = acme.handshakes;
    const parameters = { hub_mode: "subscribe", hub_verify_token: key, hub_challenge: record?.challenge };
    expect(parametersOf(handshake)).toMatchObject(parameters);
    expectMatchesWebhook("handshake", handshake);
    const passed = { encoding, url: new URL(handshake.path, url).href, verdict: "passed", reason: "" };
    expect(record).toMatchObject({ ...passed, response: { status: 200 } });
    expect(record?.challenge.length).toBeGreaterThanOrEqual(16);
  },
);

const withStatus =
  (status: number, headers = {}): Respond =>
  (received, response, index) =>
    answerAnyToken(received, response.writeHead(status, headers), index);

test.each<[string, Respond, RegExp]>([
  [
    "a challenge followed by whitespace",
    ({ body }, response) => response.end(`${new URLSearchParams(body).get("hub_challenge")}\n`),
    /not the challenge/,
  ],
  ["an endless body", (_, response) => response.write("x".repeat(200_000)), /not the challenge/],
  ["the challenge with 401", withStatus(401), /HTTP 401/],
  ["a redirect", withStatus(307, { location: "/webhook" }), /redirects are not followed/],
  ["a closed connection", (_, response) => response.socket?.destroy(), /no response/],
  ["silence", () => undefined, /within 100 ms/],
  ["half a response", (_, response) => response.write("half an answer"), /within 100 ms/],
])("set-webhook gets a 422 if the handshake fails because of %s", async (_what, respond, reason) => {
  const waits = reason.source.includes("within");
  const { acme } = await startAcme(waits ? { handshake: { timeoutMs: 100 } } : {});
  const { url, received } = await startEndpoint(respond);
  const answer = await set(acme, `${url}?secret=query-value`);
  const message: unknown = expect.stringMatching(reason);
  expect(answer).toMatchObject({ status: 422, body: { status: "error", message } });
  expect(answer.text).not.toMatch(/verification-key|query-value/);
  expect(acme.handshakes).toMatchObject([{ verdict: "failed", reason: message }]);
  expect(acme.registration).toBeUndefined();
  expect(received).toHaveLength(1);
});
