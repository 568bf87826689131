import { Webhooks } from "@octokit/webhooks";
import { describe, expect, it } from "vitest";
import { createDelivery, signBody, verifySignature } from "../../../provider/responder/index.js";

const KEY = "a key that others sign with, and é";
const FOREIGN_KEY = "the key of somebody else";

describe("@octokit/webhooks", () => {
  const octokit = new Webhooks({ secret: KEY });

  it.each(["text", "generic_template"] as const)("verifies a %s of createDelivery", async (kind) => {
    for (const verificationKey of [KEY, FOREIGN_KEY]) {
      const request = await createDelivery(kind, { verificationKey, message: { sender_id: "olá 🎉" } });
      const signature = request.headers.get("x-hub-signature-256") ?? "";
      expect(await octokit.verify(await request.text(), signature)).toBe(verificationKey === KEY);
    }
  });

  it.each([
    '{"text":"caf\\u00e9 \\/ ok"}',
    '{"text":"olá, 世界 🎉"}',
    '{"text":"\\ud800"}',
    "no JSON at all",
    "x".repeat(1024 * 1024),
  ])("verifies what signBody signs, and signs what verifySignature verifies (%#)", async (body) => {
    expect(await octokit.verify(body, await signBody(KEY, body))).toBe(true);
    expect(await octokit.verify(`${body} `, await signBody(KEY, body))).toBe(false);
    const signature = await octokit.sign(body);
    expect(await verifySignature({ verificationKeys: [FOREIGN_KEY, KEY], body, signature })).toBe(true);
    expect(await verifySignature({ verificationKeys: FOREIGN_KEY, body, signature })).toBe(false);
  });
});
