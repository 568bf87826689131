import { describe, expect, test } from "vitest";
import { MessageClient, RegistrationClient } from "../../../provider/client/index.js";
import type { InboundMessage } from "../../../schema/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import { expectMatchesOpenApi, expectMatchesWebhook, type Exchange } from "../../support/openapi.js";
import { apiKey, operations, startAcme, startEndpoint } from "./harness.js";

// All that the emulator of any test here receives and answers is held against schema/openapi.json when the test ends.

describe("what a client sends is in schema/openapi.json", () => {
  test("for the calls of the RegistrationClient", async () => {
    const { emulator, acme } = await startAcme();
    const { url } = await startEndpoint();
    const client = new RegistrationClient({ baseUrl: acme.baseUrl, apiKey });
    await client.setWebhook({ webhookUrl: url, webhookVerificationKey: "a-verification-key" });
    await client.getWebhook();
    await client.deleteWebhook();
    const actions = emulator.requests.map(({ action }) => action);
    expect(actions).toEqual(["set-webhook", "get-webhook", "delete-webhook"]);
  });

  test.each(["ok", "created", "empty"] as const)(
    "for the messages of the MessageClient, answered with %s",
    async (messageAnswer) => {
      const { emulator, acme } = await startAcme({ messageAnswer });
      const client = new MessageClient({ botUrl: acme.botUrl, flowApiKey: acme.flowApiKey });
      const address = { sender: { id: "u-1", name: "Ana" }, conversationId: 42 };
      const media = { ...address, url: "https://cdn.example/a" };
      await client.sendText({ ...address, text: "hello" });
      await client.sendButton({ ...address, title: "Yes", payload: "YES" });
      await client.sendImage(media);
      await client.sendAudio(media);
      await client.sendVideo(media);
      await client.sendFile(media);
      for (const message of Object.values(operations)) await client.send(message as InboundMessage);
      expect(emulator.requests).toHaveLength(12);
    },
  );
});

describe("the check sees", () => {
  const json = { "content-type": "application/json" };
  const refused: Exchange = {
    method: "POST",
    path: "/acme/apichat?action=get-webhook",
    headers: json,
    body: { ChaveApi: "k" },
    status: 401,
    answer: { headers: json, body: '{"status":"error","message":"no"}' },
  };
  const taken: Exchange = {
    ...refused,
    status: 200,
    answer: { headers: json, body: JSON.stringify(samples.RegistrationEnvelope) },
  };
  const message: Exchange = {
    ...taken,
    path: "/api/apichat/f3a1c09b",
    headers: { authorization: "Bearer k" },
    body: samples.InboundTextMessage,
  };
  const empty = { headers: json, body: "{}" };
  const html = { headers: { "content-type": "text/html" }, body: "<p>" };

  test("nothing wrong with right exchanges", () => {
    for (const exchange of [refused, taken, message]) expectMatchesOpenApi(exchange);
  });

  test.each<[string, Exchange, RegExp]>([
    ["an undocumented status", { ...refused, status: 418 }, /undocumented status/],
    ["a server error", { ...refused, status: 500 }, /undocumented status/],
    ["a refusal of another shape", { ...refused, answer: empty }, /answer:.*property 'message'/],
    ["another content type", { ...refused, answer: html }, /content type: text\/html/],
    ["an answer without its status field", { ...taken, answer: empty }, /answer:.*property 'status'/],
    ["a wrong body that was taken", { ...taken, body: { ChaveApi: "" } }, /ChaveApi must NOT have fewer/],
    ["an unknown action that was taken", { ...taken, path: "/acme/apichat?action=list" }, /allowed values/],
    ["an unknown address that was taken", { ...taken, path: "/elsewhere" }, /not 404/],
    ["another method that was taken", { ...taken, method: "GET" }, /not 405/],
    [
      "a wrong message that was taken",
      { ...message, body: { ...samples.InboundTextMessage, content: 5 } },
      /content must be string/,
    ],
    ["a message that was taken without a key", { ...message, headers: {} }, /without a bearer token/],
  ])("%s", (_what, exchange, reason) => {
    expect(() => expectMatchesOpenApi(exchange)).toThrow(reason);
  });

  const signature = `sha256=${"0".repeat(64)}`;
  const right = { ...json, "x-hub-signature-256": signature, "x-flow-ns": "f", "x-action": "messages" };
  test.each([
    ["a signature of another form", { "x-hub-signature-256": "sha256=00" }, /must match pattern/],
    ["another action", { "x-action": "other" }, /must be equal to constant/],
    ["no namespace", { "x-flow-ns": undefined }, /no x-flow-ns/],
  ])("a delivery with %s", (_what, headers, reason) => {
    const body = JSON.stringify(samples.OutboundText);
    const request = { method: "POST", path: "/webhook", headers: right, body };
    expectMatchesWebhook("delivery", request);
    const wrong = { ...request, headers: { ...right, ...headers } };
    expect(() => expectMatchesWebhook("delivery", wrong)).toThrow(reason);
  });
});
