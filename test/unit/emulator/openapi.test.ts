import { describe, expect, test } from "vitest";
import { MessageClient, RegistrationClient } from "../../../provider/client/index.js";
import type { InboundMessage, OutboundMessage } from "../../../schema/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import {
  expectMatchesOpenApi,
  expectMatchesWebhook,
  expectRecordsMatchOpenApi,
  type Exchange,
} from "../../support/openapi.js";
import { addressOf, apiKey, call, post, set, startAcme, startEndpoint } from "./harness.js";

const messages = Object.entries(samples).filter(([name]) => name.startsWith("Inbound"));
const deliveries = Object.entries(samples).filter(([name]) => name.startsWith("Outbound"));

describe("what the emulator receives and answers is in schema/openapi.json", () => {
  test("for every operation of the registration", async () => {
    const { emulator, acme } = await startAcme();
    const { url } = await startEndpoint();
    await call(acme, "get-webhook");
    await set(acme, url);
    await call(acme, "get-webhook");
    await call(acme, "delete-webhook");
    expect(emulator.requests.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expectRecordsMatchOpenApi(emulator.requests);
  });

  test("for every refusal of the registration", async () => {
    const { emulator, acme } = await startAcme();
    await post(addressOf(acme, "get-webhook"), "{");
    await call(acme, "get-webhook", { ChaveApi: "wrong" });
    await call(acme, "no-such-action");
    await post(`${emulator.url}/globex/apichat?action=get-webhook`, "{}");
    await post(`${emulator.url}/elsewhere`, "{}");
    await fetch(addressOf(acme, "get-webhook"));
    await call(acme, "set-webhook", { webhook_url: "no URL" });
    const { url } = await startEndpoint((_request, response) => response.end("no challenge"));
    await set(acme, url);
    expect(emulator.requests.map(({ status }) => status)).toEqual([400, 401, 404, 404, 404, 405, 422, 422]);
    expectRecordsMatchOpenApi(emulator.requests);
  });

  test("for the calls of the RegistrationClient", async () => {
    const { emulator, acme } = await startAcme();
    const { url } = await startEndpoint();
    const client = new RegistrationClient({ baseUrl: acme.baseUrl, apiKey });
    await client.setWebhook({ webhookUrl: url, webhookVerificationKey: "a-verification-key" });
    await client.getWebhook();
    await client.deleteWebhook();
    expect(emulator.requests.map(({ action }) => action)).toEqual([
      "set-webhook",
      "get-webhook",
      "delete-webhook",
    ]);
    expectRecordsMatchOpenApi(emulator.requests);
  });
});

describe("what bot_url takes and answers is in schema/openapi.json", () => {
  const address = { sender: { id: "u-1", name: "Ana" }, conversationId: 42 };
  const url = "https://cdn.example/a";

  test("for the messages of the MessageClient", async () => {
    const { emulator, acme } = await startAcme();
    const client = new MessageClient({ botUrl: acme.botUrl, flowApiKey: acme.flowApiKey });
    await client.sendText({ ...address, text: "hello" });
    await client.sendButton({ ...address, title: "Yes", payload: "YES" });
    await client.sendImage({ ...address, url });
    await client.sendAudio({ ...address, url });
    await client.sendVideo({ ...address, url });
    await client.sendFile({ ...address, url });
    for (const [, message] of messages) await client.send(message as InboundMessage);
    expect(emulator.requests.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
    expectRecordsMatchOpenApi(emulator.requests);
  });

  test("for every refusal", async () => {
    const { emulator, acme } = await startAcme();
    const send = (body: string, key = acme.flowApiKey) =>
      fetch(acme.botUrl, { method: "POST", headers: { authorization: `Bearer ${key}` }, body });
    await send("{");
    await send("{}", "wrong");
    await send("{}");
    await fetch(acme.botUrl);
    await post(`${emulator.botUrl}/api/apichat/nobody`, "{}");
    acme.mayManageFlow = false;
    await send("{}");
    expect(emulator.requests.map(({ status }) => status)).toEqual([400, 401, 422, 405, 404, 403]);
    expectRecordsMatchOpenApi(emulator.requests);
  });

  test.each(["ok", "created", "empty"] as const)("for the answer %s", async (messageAnswer) => {
    const { emulator, acme } = await startAcme({ messageAnswer });
    const client = new MessageClient({ botUrl: acme.botUrl, flowApiKey: acme.flowApiKey });
    await client.sendText({ ...address, text: "hello" });
    expect(emulator.requests).toHaveLength(1);
    expectRecordsMatchOpenApi(emulator.requests);
  });
});

describe("what arrives at a webhook URL is in schema/openapi.json", () => {
  test.each(["form", "json", "multipart", "query"] as const)(
    "a handshake in the encoding %s",
    async (encoding) => {
      const { acme } = await startAcme({ handshake: { encoding } });
      const endpoint = await startEndpoint();
      await set(acme, endpoint.url);
      expect(endpoint.received).toHaveLength(1);
      for (const request of endpoint.received) expectMatchesWebhook("handshake", request);
    },
  );

  test.each(["json", "php"] as const)(
    "every kind of delivery in the encoding %s",
    async (deliveryEncoding) => {
      const { acme } = await startAcme({ deliveryEncoding });
      const endpoint = await startEndpoint();
      await set(acme, endpoint.url);
      for (const [, message] of deliveries) await acme.deliver(message as OutboundMessage);
      const [, ...received] = endpoint.received;
      expect(received).toHaveLength(7);
      for (const request of received) expectMatchesWebhook("delivery", request);
    },
  );
});

describe("the check sees", () => {
  const refused: Exchange = {
    method: "POST",
    path: "/acme/apichat?action=get-webhook",
    headers: { "content-type": "application/json" },
    body: { ChaveApi: "k" },
    status: 401,
    answer: { headers: { "content-type": "application/json" }, body: '{"status":"error","message":"no"}' },
  };
  const taken: Exchange = {
    ...refused,
    status: 200,
    answer: { ...refused.answer, body: JSON.stringify(samples.RegistrationEnvelope) },
  };
  const message: Exchange = {
    ...taken,
    path: "/api/apichat/f3a1c09b",
    headers: { authorization: "Bearer k" },
    body: samples.InboundTextMessage,
  };

  test("nothing wrong with right exchanges", () => {
    for (const exchange of [refused, taken, message]) expectMatchesOpenApi(exchange);
  });

  const otherType = { headers: { "content-type": "text/html" }, body: "<p>" };
  const wrongMessage = { ...samples.InboundTextMessage, content: 5 };

  test.each<[string, Exchange, RegExp]>([
    ["an undocumented status", { ...refused, status: 418 }, /undocumented status/],
    ["a server error", { ...refused, status: 500 }, /undocumented status/],
    ["a refusal of another shape", withAnswer(refused, "{}"), /answer:.*property 'message'/],
    ["another content type", { ...refused, answer: otherType }, /content type: text\/html/],
    ["an answer without its status field", withAnswer(taken, "{}"), /answer:.*property 'status'/],
    ["a wrong body that was taken", { ...taken, body: { ChaveApi: "" } }, /ChaveApi must NOT have fewer/],
    ["an unknown action that was taken", { ...taken, path: "/acme/apichat?action=list" }, /allowed values/],
    ["an unknown address that was taken", { ...taken, path: "/elsewhere" }, /not 404/],
    ["another method that was taken", { ...taken, method: "GET" }, /not 405/],
    ["a wrong message that was taken", { ...message, body: wrongMessage }, /content must be string/],
    ["a message that was taken without a key", { ...message, headers: {} }, /without a bearer token/],
  ])("%s", (_what, exchange, reason) => {
    expect(() => expectMatchesOpenApi(exchange)).toThrow(reason);
  });

  test.each([
    ["a signature of another form", { "x-hub-signature-256": "sha256=00" }, /must match pattern/],
    ["another action", { "x-action": "other" }, /must be equal to constant/],
    ["no namespace", { "x-flow-ns": undefined }, /no x-flow-ns/],
  ])("a delivery with %s", (_what, headers, reason) => {
    const right = {
      "content-type": "application/json",
      "x-hub-signature-256": `sha256=${"0".repeat(64)}`,
      "x-flow-ns": "f",
      "x-action": "messages",
    };
    const body = JSON.stringify(samples.OutboundText);
    const request = { method: "POST", path: "/webhook", headers: right, body };
    const wrong = { ...request, headers: { ...right, ...headers } };
    expectMatchesWebhook("delivery", request);
    expect(() => expectMatchesWebhook("delivery", wrong)).toThrow(reason);
  });
});

function withAnswer(exchange: Exchange, body: string): Exchange {
  return { ...exchange, answer: { ...exchange.answer, body } };
}
