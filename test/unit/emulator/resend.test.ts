import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { DeliveryRecord } from "../../../provider/emulator/index.js";
import { verificationKey, startAcme } from "./harness.js";
import { judge, outbound, startScene, waitForDeliveries, type Scene } from "./delivery-harness.js";

async function resend({ emulator }: Scene, { id }: DeliveryRecord): Promise<Response> {
  return fetch(`${emulator.url}/_emulator/deliveries/${id}/resend`, { method: "POST" });
}

describe("a resend", () => {
  test("is the same byte for byte, signature and all, as a delivery of its own", async () => {
    const scene = await startScene({ deliveryEncoding: "php" });
    const sent = await scene.acme.deliver(outbound("Olá/👋"));
    await resend(scene, sent);
    const [first, again] = await waitForDeliveries(scene, 2);
    expect(again?.body).toBe(first?.body);
    expect(again?.headers["x-hub-signature-256"]).toBe(first?.headers["x-hub-signature-256"]);
    expect(again?.headers["x-flow-ns"]).toBe(scene.acme.flowNs);
    expect(await judge(again)).toBe(200);
    await expect
      .poll(() => scene.acme.deliveries[1])
      .toMatchObject({
        resendOf: sent.id,
        verdict: "delivered",
        signature: "right",
      });
  });

  test("after a rotation has the old signature, and says so", async () => {
    const scene = await startScene();
    const sent = await scene.acme.deliver(outbound("hello"));
    scene.acme.change({ webhook_verification_key: "rotated-key" });
    await resend(scene, sent);
    const [, again] = await waitForDeliveries(scene, 2);
    const expected = createHmac("sha256", verificationKey)
      .update(again?.body ?? "")
      .digest("hex");
    expect(again?.headers["x-hub-signature-256"]).toBe(`sha256=${expected}`);
    expect(await judge(again, "rotated-key")).toBe(401);
    await expect.poll(() => scene.acme.deliveries[1]).toMatchObject({ signature: "wrong" });
  });

  test("needs a registration", async () => {
    const scene = await startScene();
    const sent = await scene.acme.deliver(outbound("hello"));
    scene.acme.remove();
    expect((await resend(scene, sent)).ok).toBe(false);
    expect(scene.acme.deliveries).toHaveLength(1);
  });
});

test("a message with a signature of the test's own is recorded as wrong", async () => {
  const { acme } = await startScene();
  expect(await acme.deliver(outbound("x"), { signature: "sha256=00" })).toMatchObject({ signature: "wrong" });
});

test("deliver needs a registration", async () => {
  const { acme } = await startAcme();
  await expect(acme.deliver(outbound("x"))).rejects.toMatchObject({ code: "invalid_config" });
});
