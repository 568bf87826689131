import { expect, test } from "vitest";
import type { FlowReply } from "../../../provider/emulator/index.js";
import { signBody } from "../../../provider/responder/index.js";
import { parseOutbound, type OutboundGenericTemplate } from "../../../schema/index.js";
import samples from "../../../schema/samples.json" with { type: "json" };
import { expectMatchesWebhook } from "../../support/openapi.js";
import {
  answering,
  control,
  judge,
  outbound,
  pressed,
  QUERY_VALUE,
  say,
  startScene,
  verificationKey,
  waitForDeliveries,
  type Reading,
  type Received,
} from "./harness.js";

const message = outbound("Olá, é você? 👋", 42);

test("a delivery is a POST to the registered URL, with the specified headers and a valid signature", async () => {
  const { acme, endpoint, deliveries } = await startScene();
  const record = await acme.deliver(message);
  const [delivery] = deliveries();
  expect(delivery).toMatchObject({
    method: "POST",
    path: `/webhook?secret=${QUERY_VALUE}`,
    headers: {
      "content-type": "application/json",
      "x-hub-signature-256": await signBody(verificationKey, delivery?.body ?? ""),
      "x-flow-ns": acme.flowNs,
      "x-action": "messages",
    },
  });
  expect(JSON.parse(delivery?.body ?? "")).toEqual(message);
  expect(record).toMatchObject({
    url: `${endpoint.url}?secret=${QUERY_VALUE}`,
    verdict: "delivered",
    reason: "",
    signature: "right",
    request: { body: delivery?.body },
    attempts: [{ response: { status: 200, body: "" } }],
  });
  expect(acme.deliveries).toEqual([record]);
  expect(acme.conversations).toMatchObject([
    { id: record.conversation, conversationId: "42", messages: [{ from: "flow", delivery: record.id }] },
  ]);
});

/** The kinds of message in section 2.4: each kind's name in the control API, and a message of that kind. */
const kinds = [
  ["text", samples.OutboundText],
  ["image", samples.OutboundImage],
  ["audio", samples.OutboundAudio],
  ["video", samples.OutboundVideo],
  ["file", samples.OutboundFile],
  ["button_template", samples.OutboundButtonTemplate],
  ["generic_template", samples.OutboundGenericTemplate],
] as const;

test.each(kinds)(
  "a reply is addressed to the contact and the conversation of the message: %s",
  async (kind, { sender_id: _s, conv_id: _c, message_type: _t, private: _p, ...content }) => {
    const scene = await startScene({ flow: () => [content as FlowReply], deliveryEncoding: "php" });
    await say(scene.acme, "hello", 4711);
    const [delivery] = (await waitForDeliveries(scene, 1)) as [Received];
    const addressed = { sender_id: "contact-1", conv_id: 4711, message_type: "outgoing", private: false };
    expect(JSON.parse(delivery.body)).toEqual({ ...content, ...addressed });
    expect(parseOutbound(delivery.body).kind).toBe(kind);
    expectMatchesWebhook("delivery", delivery);
  },
);

/** The same text, as `JSON.stringify` and as PHP 8's `json_encode` write it. */
test.each<[Reading<"deliveryEncoding">, string]>([
  ["json", String.raw`"text":"é 👋 a/b \"c\" \\ \n\u0001  <&'>"`],
  ["php", String.raw`"text":"\u00e9 \ud83d\udc4b a\/b \"c\" \\ \n\u0001 \u2028<&'>"`],
])("deliveryEncoding %s determines how text is escaped in the body, which is then signed", async (...row) => {
  const [deliveryEncoding, written] = row;
  const { acme, deliveries } = await startScene({ deliveryEncoding });
  await acme.deliver({ ...outbound('é 👋 a/b "c" \\ \n\u0001 \u2028<&\'>'), conv_id: 9007199254740993n });
  const [delivery] = deliveries();
  expect(delivery?.body).toContain(written);
  expect(delivery?.body).toContain('"conv_id":9007199254740993');
  expect(await judge(delivery)).toBe(200);
});

test.each<[Reading<"deliveryResponse">, number, string]>([
  ["2xx", 204, "delivered"],
  ["2xx", 500, "failed"],
  ["200", 204, "failed"],
  ["any", 500, "delivered"],
])("deliveryResponse %s counts HTTP %i as %s", async (deliveryResponse, status, verdict) => {
  const { acme } = await startScene({ deliveryResponse }, answering(status));
  expect(await acme.deliver(message)).toMatchObject({ verdict, attempts: [{ response: { status } }] });
});

test.each<[Reading<"defaultAction">, unknown]>([
  ["null", null],
  ["url", expect.objectContaining({ url: expect.stringMatching(/^http/) })],
])("defaultAction %s is used in the cards of the menu", async (defaultAction, expected) => {
  const scene = await startScene({ defaultAction, flow: "menu" });
  await scene.acme.send(pressed("x", "carousel"));
  const [delivery] = await waitForDeliveries(scene, 1);
  const { content_attributes } = JSON.parse(delivery?.body ?? "") as OutboundGenericTemplate;
  const actions = content_attributes.items.map(({ default_action }) => default_action);
  expect(actions).toEqual([expected, expected, expected]);
});

test("a resend is a separate delivery with the same bytes and signature, even after a key rotation", async () => {
  const { emulator, acme, deliveries } = await startScene({ deliveryEncoding: "php" });
  const sent = await acme.deliver(outbound("Olá/👋"));
  acme.change({ webhook_verification_key: "rotated-key" });
  const answer = await control(emulator, `POST /_emulator/deliveries/${sent.id}/resend`);
  const pending = { resendOf: sent.id, verdict: "pending", attempts: [] };
  expect(answer).toMatchObject({ status: 202, body: pending });
  const again = await emulator.waitForDelivery({ resendOf: sent.id });
  const known = { message: { sender_id: "contact-1", conv_id: 1, text: "Olá/👋" } };
  expect(again).toMatchObject({ ...known, verdict: "delivered", signature: "wrong" });
  const [first, second] = deliveries();
  expect(second?.body).toBe(first?.body);
  expect(second?.headers["x-hub-signature-256"]).toBe(first?.headers["x-hub-signature-256"]);
});
