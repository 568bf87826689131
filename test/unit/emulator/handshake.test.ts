import { describe, expect, test } from "vitest";
import type { HandshakeEncoding } from "../../../provider/emulator/index.js";
import type { Answer as Respond } from "../../support/http.js";
import { expectMatchesWebhook } from "../../support/openapi.js";
import { answerChallenge, call, set, startAcme, startEndpoint, type Received } from "./harness.js";

/** The parameters by a reader of their encoding. */
const readers: Record<HandshakeEncoding, (received: Received) => Promise<[string, unknown][]>> = {
  form: async ({ body }) => [...new URLSearchParams(body)],
  json: async ({ body }) => Object.entries(JSON.parse(body) as object),
  multipart: async ({ body, headers }) => {
    const of = { "content-type": headers["content-type"] ?? "" };
    return [...(await new Response(body, { headers: of }).formData())];
  },
  query: async ({ path }) => [...new URL(path, "http://endpoint").searchParams].slice(1),
};

describe("the handshake", () => {
  test.each<[HandshakeEncoding, string | undefined]>([
    ["form", "application/x-www-form-urlencoded"],
    ["json", "application/json"],
    ["multipart", expect.stringContaining("multipart/form-data; boundary=")],
    ["query", undefined],
  ])("as %s is the three parameters, is in schema/openapi.json, and is recorded", async (encoding, type) => {
    const { acme } = await startAcme({ handshake: { encoding } });
    const { url, received } = await startEndpoint();
    const key = 'a "key" & é';
    expect((await set(acme, `${url}?token=a%20b`, key)).status).toBe(200);
    const [handshake] = received as [Received];
    const sent = { method: "POST", path: expect.stringContaining("/webhook?token=a%20b") };
    expect(handshake).toMatchObject(sent);
    expect(handshake.headers["content-type"]).toEqual(type);
    const [record] = acme.handshakes;
    expect(await readers[encoding](handshake)).toEqual([
      ["hub_mode", "subscribe"],
      ["hub_verify_token", key],
      ["hub_challenge", record?.challenge],
    ]);
    expectMatchesWebhook("handshake", handshake);
    const passed = { encoding, url: `${url}?token=a%20b`, verdict: "passed", reason: "", status: 200 };
    expect(record).toMatchObject(passed);
    expect(record?.challenge.length).toBeGreaterThanOrEqual(16);
  });

  test.each([
    ["", ""],
    ["?token=a%20b&x=1", "token=a%20b&x=1&"],
    ["?", ""],
    ["?token=1#part", "token=1&"],
  ])("can be in the query, behind one that the URL has: %j", async (own, kept) => {
    const { acme } = await startAcme({ handshake: { encoding: "query" } });
    const { url, received } = await startEndpoint();
    expect((await set(acme, `${url}${own}`, "a&b=c")).status).toBe(200);
    const challenge = acme.handshakes[0]?.challenge;
    const parameters = `hub_mode=subscribe&hub_verify_token=a%26b%3Dc&hub_challenge=${challenge}`;
    expect(received).toMatchObject([{ method: "POST", path: `/webhook?${kept}${parameters}`, body: "" }]);
  });
});

const wrong: Respond = (_, response) => response.end("no");

const withStatus =
  (status: number): Respond =>
  (received, response) =>
    answerChallenge(received, Object.assign(response, { statusCode: status }));

describe("a handshake that fails", () => {
  test.each<[string, Respond, RegExp]>([
    [
      "a challenge with white space behind it",
      ({ body }, response) => response.end(`${new URLSearchParams(body).get("hub_challenge")}\n`),
      /not the challenge/,
    ],
    ["an empty body", (_, response) => response.end(), /not the challenge/],
    ["a body without end", (_, response) => response.write("x".repeat(200_000)), /not the challenge/],
    ["the challenge with 401", withStatus(401), /HTTP 401/],
    ["the challenge with 500", withStatus(500), /HTTP 500/],
    ["a closed connection", (_, response) => response.socket?.destroy(), /no answer/],
    ["silence", () => undefined, /within 100 ms/],
    ["half an answer", (_, response) => response.write("half an answer"), /within 100 ms/],
  ])("through %s is answered with 422", async (_what, respond, reason) => {
    const waits = reason.source.includes("within");
    const { acme } = await startAcme(waits ? { handshake: { timeoutMs: 100 } } : {});
    const { url } = await startEndpoint(respond);
    const answer = await set(acme, `${url}?secret=query-value`);
    const message: unknown = expect.stringMatching(reason);
    expect(answer).toMatchObject({ status: 422, body: { status: "error", message } });
    expect(answer.text).not.toMatch(/verification-key|query-value/);
    expect(acme.handshakes).toMatchObject([{ verdict: "failed", reason: message }]);
    expect(acme.registration).toBeUndefined();
  });

  test("redirects are not followed", async () => {
    const { acme } = await startAcme();
    const target = await startEndpoint();
    const { url } = await startEndpoint((_, response) =>
      response.writeHead(307, { location: target.url }).end(),
    );
    expect((await set(acme, url)).text).toMatch(/redirects are not followed/);
    expect(target.received).toEqual([]);
  });

  test("so does nobody at the address, and an address that cannot be", async () => {
    const { acme } = await startAcme({ handshake: { encoding: "query" } });
    const { url, close } = await startEndpoint();
    await close();
    expect((await set(acme, url)).text).toMatch(/ECONNREFUSED/);
    expect((await set(acme, "http://[nowhere/")).status).toBe(422);
  });

  test("leaves what was registered, by default", async () => {
    const { acme } = await startAcme();
    await set(acme, (await startEndpoint()).url);
    const before = acme.registration;
    expect((await set(acme, (await startEndpoint(wrong)).url)).status).toBe(422);
    expect(acme.registration).toEqual(before);
  });

  test("clears what was registered, if asked for", async () => {
    const { acme } = await startAcme({ failedHandshake: "clears" });
    await set(acme, (await startEndpoint()).url);
    expect((await set(acme, (await startEndpoint(wrong)).url)).status).toBe(422);
    expect(acme.registration).toBeUndefined();
    expect((await call(acme, "get-webhook")).body).toMatchObject({ data: { webhook_url: "", bot_url: "" } });
  });

  test("stores the new one as failed, if asked for", async () => {
    const { acme } = await startAcme({ failedHandshake: "unverified", verifyAfterMs: 0 });
    await set(acme, (await startEndpoint()).url);
    const { url } = await startEndpoint(wrong);
    const data = { webhook_url: url, webhook_status: "failed", bot_url: acme.botUrl };
    expect(await set(acme, url)).toMatchObject({ status: 200, body: { status: "ok", data } });
    expect(acme.registration?.webhook_status).toBe("failed");
  });
});
