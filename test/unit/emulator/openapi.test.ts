import { describe, expect, test } from "vitest";
import { MessageClient, RegistrationClient } from "../../../provider/client/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import { expectMatchesOpenApi, expectMatchesWebhook, type Exchange } from "../../support/openapi.js";
import { apiKey, startAcme, startEndpoint } from "./harness.js";

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
    async (messageResponse) => {
      const { emulator, acme } = await startAcme({ messageResponse });
      const client = new MessageClient({ botUrl: acme.botUrl, flowApiKey: acme.flowApiKey });
      const address = { sender: { id: "u-1", name: "Ana" }, conversationId: 42 };
      const media = { ...address, url: "https://cdn.example/a" };
      await client.sendText({ ...address, text: "hello" });
      await client.sendButton({ ...address, title: "Yes", payload: "YES" });
      await client.sendImage(media);
      await client.sendAudio(media);
      await client.sendVideo(media);
      await client.sendFile(media);
      expect(emulator.requests).toHaveLength(6);
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
  const envelope = JSON.stringify(samples.RegistrationEnvelope);
  const taken: Exchange = { ...refused, status: 200, answer: { headers: json, body: envelope } };
  const authorization = "Bearer k";
  const message = { ...taken, path: "/api/apichat/f3a1", headers: { authorization } };
  const empty = { headers: json, body: "{}" };

  test("nothing wrong with right exchanges", () => {
    expectMatchesOpenApi(refused);
    expectMatchesOpenApi(taken);
    expectMatchesOpenApi({ ...message, body: samples.InboundTextMessage });
  });

  test.each<[string, Exchange, RegExp]>([
    ["an undocumented status", { ...refused, status: 418 }, /undocumented status/],
    ["a refusal of another shape", { ...refused, answer: empty }, /answer:.*property 'message'/],
    ["a wrong body that was taken", { ...taken, body: { ChaveApi: "" } }, /ChaveApi must NOT have fewer/],
    ["an unknown address that was taken", { ...taken, path: "/elsewhere" }, /not 404/],
    ["another method that was taken", { ...taken, method: "GET" }, /not 405/],
    ["a message that was taken without a key", { ...message, headers: {} }, /without a bearer token/],
  ])("%s", (_what, exchange, reason) => {
    expect(() => expectMatchesOpenApi(exchange)).toThrow(reason);
  });

  test("a delivery whose signature has another form", () => {
    const headers = { ...json, "x-hub-signature-256": "sha256=00", "x-flow-ns": "f", "x-action": "messages" };
    const request = { method: "POST", path: "/webhook", headers, body: JSON.stringify(samples.OutboundText) };
    expect(() => expectMatchesWebhook("delivery", request)).toThrow(/must match pattern/);
  });
});
