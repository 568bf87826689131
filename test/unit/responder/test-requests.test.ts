import { describe, expect, it } from "vitest";
import { createDelivery, createHandshake, createResponder } from "../../../provider/responder/index.js";
import type { Delivery } from "../../../provider/responder/index.js";
import { parseOutbound } from "../../../schema/index.js";

const KEY = "key & co/+=é";
const KINDS = ["text", "image", "audio", "video", "file", "button_template", "generic_template"] as const;

const deliveries: Delivery[] = [];
const responder = createResponder({
  verificationKeys: KEY,
  onDelivery: (delivery) => void deliveries.push(delivery),
});

describe("createDelivery", () => {
  it.each(KINDS)("creates a signed %s that is valid in every field", async (kind) => {
    const response = await responder(await createDelivery(kind, { verificationKey: KEY }));
    expect(response.status).toBe(200);
    const delivery = deliveries.at(-1);
    expect(delivery).toMatchObject({ kind, flowNs: "f0", action: "messages", keyIndex: 0 });
    expect(parseOutbound(delivery?.rawBody ?? "")).toMatchObject({ kind, message: delivery?.message });
  });

  it("has defaults for URL and namespace, and accepts changes of the sample", async () => {
    const request = await createDelivery("text", { verificationKey: KEY });
    const { method, headers } = request;
    expect([method, request.url, headers.get("content-type")]).toEqual([
      "POST",
      "http://localhost/",
      "application/json",
    ]);
    const url = "https://chat.acme.example/hook?tenant=7";
    const message = { text: "olá", conv_id: 99 };
    const other = await createDelivery("text", { verificationKey: KEY, url, message, flowNs: "f77" });
    expect([other.url, other.headers.get("x-flow-ns")]).toEqual([url, "f77"]);
    expect(await other.json()).toMatchObject({ type: "text", sender_id: "7", ...message });
  });
});

it("createHandshake creates a form with a random challenge of 32 hex digits by default", async () => {
  const bodies = [1, 2].map(() => createHandshake({ verificationKey: KEY }).text());
  const [one, other] = await Promise.all(bodies);
  expect(new URLSearchParams(one).get("hub_challenge")).toMatch(/^[0-9a-f]{32}$/);
  expect(other).not.toBe(one);
});
