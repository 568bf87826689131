import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { DeliveryRecord } from "../../../provider/emulator/index.js";
import { control, type ControlAnswer } from "./control-harness.js";
import { verificationKey, startAcme } from "./harness.js";
import { judge, outbound, startScene, waitForDeliveries, type Scene } from "./delivery-harness.js";

const resend = ({ emulator }: Scene, { id }: DeliveryRecord, how?: object): Promise<ControlAnswer> =>
  control(emulator, `POST /_emulator/deliveries/${id}/resend`, how);

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

  test("that signs again has the signature of the key that is registered now", async () => {
    const scene = await startScene();
    const sent = await scene.acme.deliver(outbound("hello"), { signature: "sha256=00" });
    scene.acme.change({ webhook_verification_key: "rotated-key" });
    expect(await resend(scene, sent, { sign: true })).toMatchObject({ status: 202 });
    const [first, again] = await waitForDeliveries(scene, 2);
    expect(again?.body).toBe(first?.body);
    expect(await judge(first, "rotated-key")).toBe(401);
    expect(await judge(again, "rotated-key")).toBe(200);
    await expect
      .poll(() => scene.acme.deliveries[1])
      .toMatchObject({ resendOf: sent.id, verdict: "delivered", signature: "right" });
  });

  test.each([
    { sign: true, status: 200, signature: "right" },
    { sign: false, status: 401, signature: "wrong" },
  ])("with another body is exactly that body, signed again: $sign", async ({ sign, status, signature }) => {
    const scene = await startScene();
    const sent = await scene.acme.deliver(outbound("hello"));
    const body = '{ "edited": "Olá",\n "by": "hand" }';
    await resend(scene, sent, { body, sign });
    const [, again] = await waitForDeliveries(scene, 2);
    expect(again?.body).toBe(body);
    expect(await judge(again)).toBe(status);
    await expect.poll(() => scene.acme.deliveries[1]).toMatchObject({ verdict: "delivered", signature });
  });

  test.each([{ sign: "yes" }, { body: 1 }, { bdoy: "" }])("is not made with %j", async (how) => {
    const scene = await startScene();
    const sent = await scene.acme.deliver(outbound("hello"));
    const answer = await resend(scene, sent, how);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(Object.keys(how)[0]);
    expect(scene.acme.deliveries).toHaveLength(1);
  });

  test("needs a registration", async () => {
    const scene = await startScene();
    const sent = await scene.acme.deliver(outbound("hello"));
    scene.acme.remove();
    expect((await resend(scene, sent)).status).toBe(422);
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
