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

it.each([
  ["verified", KEY, 200],
  ["refused when another secret has signed them", FOREIGN_KEY, 401],
])("GitHub webhooks of emulate, signed in the same way, are %s", async (_, secret, status) => {
  const deliveries: Delivery[] = [];
  const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
  const responder = createResponder({ verificationKeys: [KEY], onDelivery });
  const { url } = await startListener(toNodeListener(responder));
  const call = await startGitHub();
  const config = { url, secret, content_type: "json" };
  const { id } = await call<{ id: number }>("/hooks", { name: "web", events: ["*"], config });
  const title = "olá, 世界 🎉 \u2028</b>";
  await call(`/hooks/${id}/pings`, {});
  await call("/issues", { title, body: "a\n\u0000b" });
  const statuses = await vi.waitFor(
    async () => {
      const sent = await call<{ event: string; status_code: number }[]>(`/hooks/${id}/deliveries`);
      expect(sent.map(({ event }) => event)).toEqual(expect.arrayContaining(["ping", "issues"]));
      return sent.map((one) => one.status_code);
    },
    { timeout: 20_000 },
  );
  expect(new Set(statuses)).toEqual(new Set([status]));
  const titles = deliveries.flatMap(
    ({ message }) => (message as { issue?: { title: string } }).issue?.title ?? [],
  );
  expect(new Set(titles)).toEqual(new Set(status === 200 ? [title] : []));
  for (const { rawBody, message, kind } of deliveries) {
    expect(JSON.parse(Buffer.from(rawBody).toString())).toEqual(message);
    expect(kind).toBe("unknown");
  }
});

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
