import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import {
  createDelivery,
  createResponder,
  deriveVerificationKeys,
  verifySignature,
} from "../../provider/responder/index.js";
import { DERIVED } from "../support/derived-keys.ts";
import { sendAsRequest } from "./fetch-driver.ts";
import { describeResponderContract } from "./responder-contract.ts";

it("runs in workerd, and verifies with workerd's WebCrypto", async () => {
  expect(navigator.userAgent).toBe("Cloudflare-Workers");
  const verify = vi.spyOn(crypto.subtle, "verify");
  await verifySignature({ verificationKeys: "k", body: "", signature: `sha256=${"0".repeat(64)}` });
  expect(verify).toHaveBeenCalledOnce();
  verify.mockRestore();
});

it.each(DERIVED)(
  "derives the same keys as the other runtimes for vector %#",
  async (seed, subject, rotations, keys) => {
    expect(await deriveVerificationKeys(seed, { subject, rotations })).toEqual(keys);
  },
);

it("lets work continue after the response, with waitUntil of the Worker's context", async () => {
  const done: string[] = [];
  const work = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    done.push("work");
  };
  const responder = createResponder({
    verificationKeys: "k",
    onDelivery: (_delivery, { waitUntil }) => waitUntil(work()),
  });
  const context = createExecutionContext();
  const response = await responder(await createDelivery("text", { verificationKey: "k" }), {}, context);
  expect([response.status, done]).toEqual([200, []]);
  await waitOnExecutionContext(context);
  expect(done).toEqual(["work"]);
});

describeResponderContract("workerd", sendAsRequest);
