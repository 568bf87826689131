import { Webhooks } from "@octokit/webhooks";
import { createEmulator } from "emulate";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createDelivery,
  createResponder,
  signBody,
  verifySignature,
} from "../../../provider/responder/index.js";
import type { Delivery } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import { startListener } from "../../support/http.ts";

const KEY = "a key that others sign with, and é";
const FOREIGN_KEY = "the key of somebody else";
const TOKEN = "a-token";

/** The GitHub of emulate, with one repository. Gives a call of its API. */
async function startGitHub(): Promise<<Result>(path: string, body?: unknown) => Promise<Result>> {
  const emulator = await createEmulator({
    service: "github",
    port: 0,
    seed: {
      tokens: { [TOKEN]: { login: "octocat", scopes: ["repo", "admin:repo_hook"] } },
      github: { users: [{ login: "octocat" }], repos: [{ owner: "octocat", name: "hello" }] },
    },
  });
  onTestFinished(() => emulator.close());
  return async <Result>(path: string, body?: unknown): Promise<Result> => {
    const response = await fetch(`${emulator.url}/repos/octocat/hello${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.ok).toBe(true);
    // A ping is answered without a body.
    return JSON.parse((await response.text()) || "null") as Result;
  };
}

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
