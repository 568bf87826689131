import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import {
  answerChallenge,
  call,
  set,
  startAcme,
  startEndpoint,
  verificationKey,
  type Received,
} from "./harness.js";

describe("the handshake", () => {
  test("is a form by default", async () => {
    const { acme } = await startAcme();
    const { url, received } = await startEndpoint();
    expect((await set(acme, `${url}?token=a%20b`)).status).toBe(200);
    expect(received).toMatchObject([{ method: "POST", path: "/webhook?token=a%20b" }]);
    expect(received[0]?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(Object.fromEntries(new URLSearchParams(received[0]?.body))).toEqual({
      hub_mode: "subscribe",
      hub_verify_token: verificationKey,
      hub_challenge: acme.handshakes[0]?.challenge,
    });
  });

  test("can be JSON", async () => {
    const { acme } = await startAcme({ handshake: { encoding: "json" } });
    const { url, received } = await startEndpoint();
    expect((await set(acme, url, 'a "key" & more')).status).toBe(200);
    expect(received[0]?.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({
      hub_mode: "subscribe",
      hub_verify_token: 'a "key" & more',
      hub_challenge: acme.handshakes[0]?.challenge,
    });
  });

  test("can be a multipart form", async () => {
    const { acme } = await startAcme({ handshake: { encoding: "multipart" } });
    const { url, received } = await startEndpoint();
    expect((await set(acme, url, 'a "key" & é')).status).toBe(200);
    const headers = { "content-type": received[0]?.headers["content-type"] ?? "" };
    const form = await new Response(received[0]?.body, { headers }).formData();
    expect([...form]).toEqual([
      ["hub_mode", "subscribe"],
      ["hub_verify_token", 'a "key" & é'],
      ["hub_challenge", acme.handshakes[0]?.challenge],
    ]);
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

  test("is recorded with its verdict", async () => {
    const { acme } = await startAcme();
    const { url } = await startEndpoint();
    await set(acme, url);
    expect(acme.handshakes).toMatchObject([
      { encoding: "form", url, verdict: "passed", reason: "", status: 200 },
    ]);
    expect(acme.handshakes[0]?.challenge.length).toBeGreaterThanOrEqual(16);
  });
});

type Wrong = (request: Received, response: ServerResponse) => void;
const wrongEndpoints: Record<string, [Wrong, RegExp]> = {
  "a challenge with white space behind it": [
    (request, response) => response.end(`${new URLSearchParams(request.body).get("hub_challenge")}\n`),
    /not the challenge/,
  ],
  "an empty body": [(_, response) => response.end(), /not the challenge/],
  "the challenge with 401": [
    (request, response) => answerChallenge(request, Object.assign(response, { statusCode: 401 })),
    /HTTP 401/,
  ],
  "the challenge with 500": [
    (request, response) => answerChallenge(request, Object.assign(response, { statusCode: 500 })),
    /HTTP 500/,
  ],
  "a closed connection": [(_, response) => response.socket?.destroy(), /no answer/],
};

describe("a handshake that fails", () => {
  test.each(Object.entries(wrongEndpoints))(
    "through %s is answered with 422",
    async (_, [respond, reason]) => {
      const { acme } = await startAcme();
      const { url } = await startEndpoint(respond);
      const answer = await set(acme, `${url}?secret=query-value`);
      expect(answer.status).toBe(422);
      expect(answer.json()).toMatchObject({ status: "error", message: expect.stringMatching(reason) });
      expect(answer.text).not.toMatch(/verification-key|query-value/);
      expect(acme.handshakes).toMatchObject([{ verdict: "failed", reason: expect.stringMatching(reason) }]);
      expect(acme.registration).toBeUndefined();
    },
  );

  test("redirects are not followed", async () => {
    const { acme } = await startAcme();
    const target = await startEndpoint();
    const { url } = await startEndpoint((_, response) =>
      response.writeHead(307, { location: target.url }).end(),
    );
    expect((await set(acme, url)).text).toMatch(/redirects are not followed/);
    expect(target.received).toEqual([]);
  });

  test("the time limit covers an endpoint that is silent and one that never ends", async () => {
    const { acme } = await startAcme({ handshake: { timeoutMs: 100 } });
    const silent = await startEndpoint(() => undefined);
    expect((await set(acme, silent.url)).text).toMatch(/within 100 ms/);
    const endless = await startEndpoint((_, response) => void response.write("half an answer"));
    expect((await set(acme, endless.url)).text).toMatch(/within 100 ms/);
  });

  test("a body without end fails by its size", async () => {
    const { acme } = await startAcme();
    const { url } = await startEndpoint((_, response) => void response.write("x".repeat(200_000)));
    expect((await set(acme, url)).text).toMatch(/not the challenge/);
  });

  test("so does nobody at the address, and an address that cannot be", async () => {
    const { acme } = await startAcme({ handshake: { encoding: "query" } });
    const { url, close } = await startEndpoint();
    await close();
    expect((await set(acme, url)).text).toMatch(/ECONNREFUSED/);
    expect((await set(acme, "http://[nowhere/")).status).toBe(422);
  });

  test("leaves what stood there, by default", async () => {
    const { acme } = await startAcme();
    const good = await startEndpoint();
    await set(acme, good.url);
    const before = acme.registration;
    const bad = await startEndpoint((_, response) => response.end("no"));
    expect((await set(acme, bad.url)).status).toBe(422);
    expect(acme.registration).toEqual(before);
  });

  test("clears what stood there, if asked for", async () => {
    const { acme } = await startAcme({ failedHandshake: "clears" });
    await set(acme, (await startEndpoint()).url);
    const bad = await startEndpoint((_, response) => response.end("no"));
    expect((await set(acme, bad.url)).status).toBe(422);
    expect(acme.registration).toBeUndefined();
    expect((await call(acme, "get-webhook")).json()).toMatchObject({
      data: { webhook_url: "", bot_url: "" },
    });
  });

  test("stores the new one as failed, if asked for", async () => {
    const { acme } = await startAcme({ failedHandshake: "unverified", verifyAfterMs: 0 });
    await set(acme, (await startEndpoint()).url);
    const bad = await startEndpoint((_, response) => response.end("no"));
    const answer = await set(acme, bad.url);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({
      status: "ok",
      data: { webhook_url: bad.url, webhook_status: "failed", bot_url: acme.botUrl },
    });
    expect(acme.registration?.webhook_status).toBe("failed");
  });
});
