import { describe, expect, it } from "vitest";
import { createResponder, signBody } from "../../../provider/responder/index.js";

const KEY = "verification key & co/+=";
const OLD_KEY = new TextEncoder().encode("the key before");
const CHALLENGE = "9f86d081884c7d659a2feaa0c55ad015";
const URL_OF_ENDPOINT = "https://chat.acme.example/webhooks/apichat";

const responder = createResponder({
  verificationKeys: [KEY, OLD_KEY],
  onDelivery: () => {
    throw new Error("a handshake must not reach the handler");
  },
});

type Parameters = Record<string, string | number | undefined>;

const handshake = (changes: Parameters = {}): Parameters => ({
  hub_mode: "subscribe",
  hub_verify_token: KEY,
  hub_challenge: CHALLENGE,
  ...changes,
});
const toForm = (parameters: Parameters): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`)
    .join("&");
const post = (body: string | null, contentType: string, url = URL_OF_ENDPOINT): Promise<Response> =>
  responder(new Request(url, { method: "POST", body, headers: { "content-type": contentType } }));
const postForm = (parameters: Parameters): Promise<Response> =>
  post(toForm(parameters), "application/x-www-form-urlencoded");
const postJson = (parameters: Parameters): Promise<Response> =>
  post(JSON.stringify(parameters), "application/json");

describe("a handshake", () => {
  it.each([
    ["a form", () => postForm(handshake())],
    ["JSON", () => postJson(handshake())],
    ["JSON with a byte order mark", () => post(`\ufeff${JSON.stringify(handshake())}`, "application/json")],
    ["the query", () => post(null, "text/plain", `${URL_OF_ENDPOINT}?${toForm(handshake())}`)],
    [
      "the query, with an empty JSON body",
      () => post("{}", "application/json", `${URL_OF_ENDPOINT}?${toForm(handshake())}`),
    ],
    [
      "a form, at a URL with a query of its own",
      () =>
        post(
          toForm(handshake()),
          "application/x-www-form-urlencoded",
          `${URL_OF_ENDPOINT}?tenant=7&hub_mode=x`,
        ),
    ],
    [
      "the query, after one of the URL's own",
      () => post(null, "text/plain", `${URL_OF_ENDPOINT}?tenant=7&${toForm(handshake())}`),
    ],
    ["JSON without a content type that says so", () => post(JSON.stringify(handshake()), "text/plain")],
    ["a form with other parameters", () => postForm(handshake({ hub_topic: "x", action: "y" }))],
    [
      "a form with an earlier key, given as bytes",
      () => postForm(handshake({ hub_verify_token: "the key before" })),
    ],
  ])("in %s is answered with its challenge", async (_name, send) => {
    const response = await send();
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(CHALLENGE);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it.each([
    ["another token", "verification key"],
    ["an empty token", ""],
    ["the key in upper case", KEY.toUpperCase()],
    ["both keys together", `${KEY}the key before`],
  ])("with %s gets 401, and its challenge is not given back", async (_name, token) => {
    const response = await postForm(handshake({ hub_verify_token: token }));
    expect(response.status).toBe(401);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ error: { code: "invalid_token" } });
    expect(text).not.toContain(CHALLENGE);
  });

  it.each([
    ["no hub_mode", { hub_mode: undefined }],
    ["another hub_mode", { hub_mode: "unsubscribe" }],
    ["a token that is a number", { hub_verify_token: 5 }],
    ["a challenge that is a number", { hub_challenge: 123456789012 }],
    ["no token", { hub_verify_token: undefined }],
  ])("with %s is none, and needs a signature", async (_name, changes) => {
    const response = await postJson(handshake(changes));
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: "invalid_signature" } });
  });

  it("is none when its parameters are spread over query and body", async () => {
    const { hub_challenge, ...others } = handshake();
    const url = `${URL_OF_ENDPOINT}?${toForm(others)}`;
    const response = await post(toForm({ hub_challenge }), "application/x-www-form-urlencoded", url);
    expect(await response.json()).toMatchObject({ error: { code: "invalid_signature" } });
  });

  it("is none when a signed message speaks of one", async () => {
    const seen: unknown[] = [];
    const own = createResponder({
      verificationKeys: KEY,
      onDelivery: ({ message }) => void seen.push(message),
    });
    const message = { type: "text", text: toForm(handshake()) };
    const body = JSON.stringify(message);
    const headers = { "x-hub-signature-256": await signBody(KEY, body) };
    expect((await own(new Request(URL_OF_ENDPOINT, { method: "POST", body, headers }))).status).toBe(200);
    expect(seen).toEqual([message]);
  });
});

describe("a challenge", () => {
  it.each([
    ["of 1 KiB", "c".repeat(1024)],
    ["of one character", "0"],
    [
      "with every printable character",
      Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join(""),
    ],
    ["with HTML in it", "<script>alert(1)</script>"],
  ])("%s is given back as it is, as plain text", async (_name, challenge) => {
    const response = await postForm(handshake({ hub_challenge: challenge }));
    expect(await response.text()).toBe(challenge);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it.each([
    ["of more than 1 KiB", "c".repeat(1025)],
    ["that is empty", ""],
    ["with a line feed", "a\nb"],
    ["with a line feed at the end", "a\n"],
    ["with a NUL", "a\0b"],
    ["with DEL", "a\u007f"],
    ["beyond ASCII", "é"],
    ["with an escape sequence", "\u001b[31m"],
  ])("%s gets 400 and is not given back", async (_name, challenge) => {
    for (const response of [
      await postForm(handshake({ hub_challenge: challenge })),
      await postJson(handshake({ hub_challenge: challenge })),
    ]) {
      expect(response.status).toBe(400);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toMatchObject({ error: { code: "invalid_challenge" } });
    }
  });

  it("is looked at only after the token", async () => {
    const response = await postForm(handshake({ hub_challenge: "é", hub_verify_token: "wrong" }));
    expect(await response.json()).toMatchObject({ error: { code: "invalid_token" } });
  });
});
