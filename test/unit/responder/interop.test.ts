import { Webhooks } from "@octokit/webhooks";
import { createEmulator, type Emulator } from "emulate";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
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

describe("the GitHub webhooks of emulate, which signs in the same way", () => {
  const TOKEN = "a-token";
  let emulator: Emulator;
  let webhookUrl: string;
  let deliveries: Delivery[] = [];

  beforeEach(async () => {
    deliveries = [];
    const responder = createResponder({
      verificationKeys: [KEY],
      onDelivery: (delivery) => void deliveries.push(delivery),
    });
    webhookUrl = `${(await startListener(toNodeListener(responder))).url}/webhooks/apichat`;
    emulator = await createEmulator({
      service: "github",
      port: 0,
      seed: {
        tokens: { [TOKEN]: { login: "octocat", scopes: ["repo", "admin:repo_hook"] } },
        github: { users: [{ login: "octocat" }], repos: [{ owner: "octocat", name: "hello" }] },
      },
    });
  });

  afterEach(() => emulator.close());

  async function callGitHub<Result>(path: string, body?: unknown): Promise<Result> {
    const response = await fetch(`${emulator.url}/repos/octocat/hello${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.ok).toBe(true);
    // A ping is answered without a body.
    return JSON.parse((await response.text()) || "null") as Result;
  }

  /** Registers the responder's URL, asks for a ping and opens an issue; gives the id of the hook. */
  async function causeDeliveries(secret: string, issue: { title: string; body: string }): Promise<number> {
    const config = { url: webhookUrl, secret, content_type: "json" };
    const { id } = await callGitHub<{ id: number }>("/hooks", { name: "web", events: ["*"], config });
    await callGitHub(`/hooks/${id}/pings`, {});
    await callGitHub("/issues", issue);
    return id;
  }

  const PATIENCE = { timeout: 20_000 };

  /** Waits until it has the answers to the ping, which may come twice, and to the issue. */
  const waitForAnswers = (id: number): Promise<number[]> =>
    vi.waitFor(async () => {
      const sent = await callGitHub<{ event: string; status_code: number }[]>(`/hooks/${id}/deliveries`);
      expect(sent.map(({ event }) => event)).toEqual(expect.arrayContaining(["ping", "issues"]));
      return sent.map((one) => one.status_code);
    }, PATIENCE);

  it("are verified over a real socket", async () => {
    const title = "olá, 世界 🎉 \u2028</b>";
    const id = await causeDeliveries(KEY, { title, body: "a\n\u0000b" });
    expect(new Set(await waitForAnswers(id))).toEqual(new Set([200]));
    const messages = deliveries.map(({ message }) => message as { zen?: string; issue?: { title: string } });
    expect(messages.filter(({ zen }) => typeof zen === "string")).not.toHaveLength(0);
    expect(messages.flatMap(({ issue }) => issue?.title ?? [])).toContain(title);
    for (const { rawBody, message, kind } of deliveries) {
      expect(JSON.parse(Buffer.from(rawBody).toString())).toEqual(message);
      expect(kind).toBe("unknown");
    }
  });

  it("are refused when another secret has signed them", async () => {
    const id = await causeDeliveries(FOREIGN_KEY, { title: "x", body: "y" });
    expect(new Set(await waitForAnswers(id))).toEqual(new Set([401]));
    expect(deliveries).toEqual([]);
  });
});

describe("@octokit/webhooks", () => {
  const octokit = new Webhooks({ secret: KEY });
  const KINDS = ["text", "image", "audio", "video", "file", "button_template", "generic_template"] as const;
  const BODIES = [
    '{"text":"caf\\u00e9 \\/ ok"}',
    '{"text":"olá, 世界 🎉"}',
    '{"text":"\\ud800"}',
    "no JSON at all",
    "x".repeat(1024 * 1024),
  ];

  it.each(KINDS)("verifies a %s of createDelivery, and refuses it under another key", async (kind) => {
    const verify = async (verificationKey: string): Promise<boolean> => {
      const request = await createDelivery(kind, { verificationKey, message: { sender_id: "olá 🎉" } });
      const signature = request.headers.get("x-hub-signature-256") ?? "";
      return octokit.verify(await request.text(), signature);
    };
    expect(await verify(KEY)).toBe(true);
    expect(await verify(FOREIGN_KEY)).toBe(false);
  });

  it.each(BODIES)("verifies what signBody signs (%#)", async (body) => {
    expect(await octokit.verify(body, await signBody(KEY, body))).toBe(true);
    expect(await octokit.verify(`${body} `, await signBody(KEY, body))).toBe(false);
  });

  it.each(BODIES)("signs what verifySignature verifies (%#)", async (body) => {
    const signature = await octokit.sign(body);
    expect(await verifySignature({ verificationKeys: [FOREIGN_KEY, KEY], body, signature })).toBe(true);
    expect(await verifySignature({ verificationKeys: FOREIGN_KEY, body, signature })).toBe(false);
  });
});
