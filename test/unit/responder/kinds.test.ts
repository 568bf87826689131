import { expect, expectTypeOf, it } from "vitest";
import { createDelivery, createResponder } from "../../../provider/responder/index.js";
import type { Delivery } from "../../../provider/responder/index.js";
import type { OutboundGenericTemplate, OutboundMedia } from "../../../schema/index.js";

const KEY = "the key of the kinds";

/** Delivers a body and gives what the handler got. */
async function deliver(body: string | Uint8Array): Promise<Delivery> {
  const deliveries: Delivery[] = [];
  const responder = createResponder({
    verificationKeys: KEY,
    onDelivery: (delivery) => void deliveries.push(delivery),
  });
  expect((await responder(await createDelivery("text", { verificationKey: KEY, body }))).status).toBe(200);
  const [delivery] = deliveries;
  if (delivery === undefined) throw new Error("nothing was delivered");
  return delivery;
}

// Those of section 2.4 are in the contract (test/contract/cases/messages.ts).
it.each([
  ["text", { type: "text", content_type: "" }],
  ["image", { type: "image", content_type: "button_template" }],
  ["unknown", { type: "text", content_type: 5 }],
  ["unknown", { type: "Text" }],
  ["unknown", { type: ["text"] }],
  ["unknown", { type: "toString" }],
  ["unknown", "text"],
  ["unknown", 5],
])("says %s of %j, and gives it as it is", async (kind, message) => {
  expect(await deliver(JSON.stringify(message))).toMatchObject({ kind, message });
});

it.each([
  ["9007199254740992", 9007199254740992n],
  ["-9007199254740991", -9007199254740991],
  ["123456789012345678901234567890", 123456789012345678901234567890n],
])("keeps every digit of conv_id %s", async (digits, expected) => {
  const { message } = await deliver(`{"type":"text","conv_id" :\n${digits},"text":"x"}`);
  expect(message).toEqual({ type: "text", conv_id: expected, text: "x" });
});

it("leaves other large numbers and text that looks like a conv_id alone", async () => {
  const text = '"conv_id":9007199254740993';
  const body = JSON.stringify({ conv_id: 5, other: 2 ** 60, text });
  expect((await deliver(body)).message).toEqual({ conv_id: 5, other: 2 ** 60, text });
});

it("tells the type of the message by the kind", async () => {
  const delivery = await deliver('{"type":"image","url":"https://files.example/1.png"}');
  if (delivery.kind === "generic_template") {
    expectTypeOf(delivery.message).toEqualTypeOf<OutboundGenericTemplate>();
  }
  if (delivery.kind === "unknown") expectTypeOf(delivery.message).toBeUnknown();
  if (delivery.kind !== "image") throw new Error("not an image");
  expectTypeOf(delivery.message).toEqualTypeOf<OutboundMedia>();
  expect(delivery.message.url).toBe("https://files.example/1.png");
});
