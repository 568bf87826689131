import { describe, expect, it } from "vitest";
import { diagnoseHandshake } from "pulumi-apichat/diagnosis";
import { createDelivery, createHandshake } from "pulumi-apichat/responder";
import { freePort } from "../support/http.ts";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { findSecrets } from "../support/secrets.ts";
import { readJsonLines, runCli, startLive, usageError } from "./cli-harness.ts";
import { KEY } from "./program.ts";

const environment = { APICHAT_VERIFICATION_KEY: KEY };

async function listen(...parameters: string[]) {
  const program = startLive(["listen", ...parameters], { environment });
  const [url = ""] = await program.waitFor(/http:\/\/[^\s",;]+/);
  return { ...program, url };
}

const post = async (url: string, body: string): Promise<number> =>
  (await fetch(url, { method: "POST", body })).status;

describe("apichat listen", () => {
  it("answers a handshake, prints each request, and exits with 0 on Ctrl-C", async () => {
    const { url, end } = await listen();
    const answer = await fetch(createHandshake({ url, verificationKey: KEY, challenge: "c1" }));
    expect(await answer.text()).toBe("c1");
    const wrongToken = createHandshake({ url, verificationKey: "another", encoding: "json" });
    expect((await fetch(wrongToken)).status).toBe(401);
    expect(await deliverTo(`${url}acme?token=x`, KEY, { text: "Olá" })).toBe(200);
    expect(await deliverTo(url, "another")).toBe(401);
    expect(await post(url, "{}")).toBe(401);
    expect((await fetch(new URL("/other?token=secret-of-a-query", url))).status).toBe(405);
    const misspelt = { "hub.mode": "subscribe", "hub.verify_token": "key-of-another", "hub.challenge": "c" };
    expect(await post(url, new URLSearchParams(misspelt).toString())).toBe(401);
    await diagnoseHandshake({ url, verificationKey: KEY });
    const said = await end();
    expect(said).toMatchObject({ exitCode: 0, signal: null, stderr: "" });
    const lines = said.stdout.replaceAll(/^\d\d:\d\d:\d\d {2}/gm, "").replaceAll(/ {2,}/g, "  ");
    expect(lines.split("\n")).toEqual([
      `listening on ${url}; press Ctrl-C to stop`,
      "#1 handshake  200  POST /  as form",
      expect.stringMatching(/^#2 request {2}401 {2}POST \/ {2}hub_verify_token is not /),
      '#3 delivery  200  POST /acme?token=***  text  sender 7  conversation 1  "Olá"',
      expect.stringMatching(/^#4 request {2}401 {2}POST \/ {2}.*not the signature of this body/),
      expect.stringMatching(/^#5 request {2}401 {2}POST \/ {2}.*X-Hub-Signature-256 is missing/),
      "#6 request  405  GET /other?token=***  this endpoint accepts only POST",
      expect.stringMatching(/^#7 request {2}401 {2}POST \//),
      "#8 handshake  200  POST /  as form  this package's preflight, not the service",
      "#9 handshake  200  POST /  as json  this package's preflight, not the service",
      "",
    ]);
    expect(said.stdout).not.toContain("\u001b");
    expect(findSecrets(said.stdout, [KEY, "key-of-another"])).toEqual([]);
  });

  it("forwards accepted deliveries byte for byte, with their end-to-end headers", async () => {
    const receiver = await startReceiver();
    const target = `${receiver.url}?token=secret-of-the-target`;
    const { url, waitForJson, end } = await listen("--forward", target, "--json");
    const body = '{ "type":"text",\t"conv_id":9007199254740993, "sender_id":"7","text":"ol\\u00e1 \\/" }';
    const delivery = await createDelivery("text", { url, verificationKey: KEY, body, flowNs: "f7" });
    delivery.headers.set("x-other", "kept");
    delivery.headers.set("authorization", "Bearer secret-of-a-header");
    expect((await fetch(delivery)).status).toBe(200);
    await waitForJson(({ type }) => type === "forward");
    expect(await deliverTo(url, "another")).toBe(401);
    const { stdout } = await end();
    expect(readJsonLines(stdout)).toMatchObject([
      { type: "listening" },
      { type: "delivery", conversation: "9007199254740993", body },
      { type: "forward", id: 1, status: 200, reason: "", url: `${receiver.url}?token=***` },
      { type: "request", status: 401 },
    ]);
    expect(receiver.received.map((got) => got.body.toString("utf8"))).toEqual([body]);
    const signature = delivery.headers.get("x-hub-signature-256");
    expect(receiver.received[0]?.headers).toMatchObject({
      "x-flow-ns": "f7",
      "x-action": "messages",
      "x-other": "kept",
      "x-hub-signature-256": signature,
    });
    expect(findSecrets(stdout, [KEY, "secret-of-the-target", "secret-of-a-header"])).toEqual([]);
  });

  it("acknowledges deliveries even if the target rejects them, reports why, and keeps their order", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(500);
    const { url, waitForJson, end } = await listen("--forward", receiver.url, "--json");
    for (const text of ["one", "two", "three"]) expect(await deliverTo(url, KEY, { text })).toBe(200);
    await waitForJson(({ type, id }) => type === "forward" && id === 3);
    const texts = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { text: string }).text);
    expect(texts).toEqual(["one", "two", "three"]);
    await receiver.close();
    expect(await deliverTo(url, KEY)).toBe(200);
    await waitForJson(({ type, id }) => type === "forward" && id === 4);
    const forwards = readJsonLines((await end()).stdout).filter(({ type }) => type === "forward");
    expect(forwards).toMatchObject([
      ...[1, 2, 3].map((id) => ({ id, status: 500 })),
      { id: 4, status: null, reason: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  it("escapes control characters in text from requests when it prints the text", async () => {
    const text = "\u001b]0;owned\u0007\u009b2J\u202e\r\nlistening on http://evil.example";
    const { url, end } = await listen();
    for (const key of [KEY, "another"]) await deliverTo(url, key, { text, sender_id: text });
    await post(`${url}${encodeURI("\u001b")}`, text);
    const { stdout } = await end();
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(stdout).toContain("\\u001b]0;owned");
    expect(stdout.match(/^listening/gm)).toHaveLength(1);
  });
});

it("apichat listen exits with 2 if it would forward to itself", async () => {
  const port = await freePort();
  const target = `http://localhost:${port}/?token=***`;
  const forward = target.replace("***", "secret");
  const said = await runCli(["listen", "--json", "--port", `${port}`, "--forward", forward], { environment });
  expect(said).toMatchObject(usageError(/^--forward: must be the URL of your own program, .*itself listens/));
  expect(said.stderr).toContain(target);
});
