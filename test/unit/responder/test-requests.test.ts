import { expect, it } from "vitest";
import { createDelivery, createHandshake } from "../../../provider/responder/index.js";

const KEY = "key & co/+=é";

// test/contract/vectors.test.ts compares the deliveries of each kind with schema/vectors.json.
it("createDelivery has defaults for the URL and the headers, and accepts changes to the sample", async () => {
  const request = await createDelivery("text", { verificationKey: KEY });
  const { method, headers } = request;
  expect([method, request.url]).toEqual(["POST", "http://localhost/"]);
  const expected = { "content-type": "application/json", "x-flow-ns": "f0", "x-action": "messages" };
  expect(Object.fromEntries(headers)).toMatchObject(expected);
  const url = "https://chat.acme.example/hook?tenant=7";
  const message = { text: "olá", conv_id: 99 };
  const other = await createDelivery("text", { verificationKey: KEY, url, message, flowNs: "f77" });
  expect([other.url, other.headers.get("x-flow-ns")]).toEqual([url, "f77"]);
  expect(await other.json()).toMatchObject({ type: "text", sender_id: "7", ...message });
});

it("createHandshake creates a form with a random challenge of 32 hex digits by default", async () => {
  const bodies = [1, 2].map(() => createHandshake({ verificationKey: KEY }).text());
  const [one, other] = await Promise.all(bodies);
  expect(new URLSearchParams(one).get("hub_challenge")).toMatch(/^[0-9a-f]{32}$/);
  expect(other).not.toBe(one);
});
