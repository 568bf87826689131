import { describe, expect, test } from "vitest";
import type { Fault, FaultRule, Workspace } from "../../../provider/emulator/index.js";
import { apiKey, call, set, startAcme, startEndpoint, type Answer } from "./harness.js";

const actions = ["get-webhook", "set-webhook", "delete-webhook"] as const;
type Action = (typeof actions)[number];

/** A registered workspace, and each operation ready to be called; `changed` tells whether it was carried out. */
async function prepare(action: Action) {
  const { emulator, acme } = await startAcme();
  const { url, received } = await startEndpoint();
  await set(acme, url, "first-key");
  const perform = (): Promise<Answer> =>
    action === "set-webhook" ? set(acme, url, "second-key") : call(acme, action);
  const changed = (): boolean => acme.registration?.webhook_verification_key !== "first-key";
  return { emulator, acme, perform, changed, handshakes: () => received.length - 1 };
}

const statuses = async (count: number, perform: () => Promise<Answer>): Promise<number[]> => {
  const seen: number[] = [];
  for (let n = 0; n < count; n += 1) seen.push((await perform()).status);
  return seen;
};

describe.each(actions)("a fault of %s", (operation) => {
  const changes = operation !== "get-webhook";

  test("{ status } refuses with Retry-After and body before the change", async () => {
    const { emulator, perform, changed, handshakes } = await prepare(operation);
    emulator.injectFault({ operation, fault: { status: 429, retryAfterSeconds: 7, body: "slow down" } });
    const answer = await perform();
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).toBe("7");
    expect(answer.text).toBe("slow down");
    expect(changed()).toBe(false);
    expect(handshakes()).toBe(0);
    expect((await perform()).status).toBe(200);
  });

  test("{ status } alone has an error envelope and no Retry-After", async () => {
    const { emulator, perform } = await prepare(operation);
    emulator.injectFault({ operation, fault: { status: 503 } });
    const answer = await perform();
    expect(answer.json()).toMatchObject({ status: "error" });
    expect(answer.headers.has("retry-after")).toBe(false);
  });

  test.each<Fault>([
    { status: 502, afterChange: true },
    { statusField: "error", afterChange: true },
  ])("%j refuses after the change", async (fault) => {
    const { emulator, perform, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault });
    const answer = await perform();
    expect(answer.text).not.toContain('"ok"');
    expect(changed()).toBe(changes);
  });

  test("{ statusField } is another envelope status, before the change", async () => {
    const { emulator, perform, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault: { statusField: "error" } });
    const answer = await perform();
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ status: "error" });
    expect(changed()).toBe(false);
  });

  test("{ delayMs } makes the change and answers when it is over", async () => {
    const { emulator, perform, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault: { delayMs: 200 } });
    const startedAt = performance.now();
    const answering = perform();
    await expect.poll(() => emulator.requests).toHaveLength(2);
    expect(changed()).toBe(false);
    expect((await answering).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(195);
    expect(changed()).toBe(changes);
  });

  test("{ delayMs, afterChange } makes the change and leaves the caller waiting", async () => {
    const { emulator, acme, perform, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault: { delayMs: 60_000, afterChange: true } });
    const outcome = perform().catch(String);
    await expect.poll(() => emulator.requests.at(-1)?.fault).not.toBe("");
    await expect.poll(() => changed()).toBe(changes);
    expect((await call(acme, "get-webhook")).status).toBe(200);
    await emulator.close();
    expect(await outcome).toContain("fetch failed");
  });

  test.each<[Fault, RegExp]>([
    ["broken-json", /^\{"status":"ok"/],
    ["html", /^<!doctype html>/],
  ])("%s comes after the change, with 200", async (fault, body) => {
    const { emulator, perform, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault });
    const answer = await perform();
    expect(answer.status).toBe(200);
    expect(answer.text).toMatch(body);
    expect(answer.json).toThrow(SyntaxError);
    expect(answer.headers.get("content-type")).toBe(fault === "html" ? "text/html" : "application/json");
    expect(changed()).toBe(changes);
  });

  test("truncated breaks off in the middle of the body, after the change", async () => {
    const { emulator, acme, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault: "truncated" });
    const response = await fetch(`${acme.baseUrl}?action=${operation}`, {
      method: "POST",
      body: JSON.stringify({ ChaveApi: apiKey, ...secondKey(operation, acme) }),
    });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow(/terminated/);
    expect(changed()).toBe(changes);
  });

  test.each<[Fault, boolean]>([
    ["close-before", false],
    ["close-after", changes],
  ])("%s ends the connection without an answer", async (fault, made) => {
    const { emulator, perform, changed, handshakes } = await prepare(operation);
    emulator.injectFault({ operation, fault });
    await expect(perform()).rejects.toThrow(/fetch failed/);
    expect(changed()).toBe(made);
    expect(handshakes()).toBe(made && operation === "set-webhook" ? 1 : 0);
    expect(emulator.requests.at(-1)).toMatchObject({ received: null, fault: JSON.stringify(fault) });
    expect((await perform()).status).toBe(200);
  });

  test("strikes no other operation", async () => {
    const { emulator, acme } = await prepare(operation);
    emulator.injectFault({ operation, times: Infinity, fault: { status: 503 } });
    const { url } = await startEndpoint();
    for (const other of actions.filter((action) => action !== operation)) {
      const answer = await (other === "set-webhook" ? set(acme, url) : call(acme, other));
      expect(answer.status).toBe(200);
    }
  });
});

function secondKey(action: Action, { registration }: Workspace): object {
  if (action !== "set-webhook") return {};
  return { webhook_url: registration?.webhook_url, webhook_verification_key: "second-key" };
}

describe("a rule", () => {
  test("strikes the next `times` calls", async () => {
    const { emulator, perform } = await prepare("get-webhook");
    emulator.injectFault({ operation: "get-webhook", times: 2, fault: { status: 503 } });
    expect(await statuses(4, perform)).toEqual([503, 503, 200, 200]);
  });

  test("with `every` strikes one call in so many, without end or `times` times", async () => {
    const { emulator, perform } = await prepare("get-webhook");
    emulator.injectFault({ operation: "get-webhook", every: 3, fault: { status: 429 } });
    expect(await statuses(9, perform)).toEqual([200, 200, 429, 200, 200, 429, 200, 200, 429]);
    emulator.clearFaults();
    emulator.injectFault({ operation: "get-webhook", every: 2, times: 1, fault: { status: 429 } });
    expect(await statuses(4, perform)).toEqual([200, 429, 200, 200]);
  });

  test("with `workspace` strikes only that one", async () => {
    const { emulator, perform } = await prepare("get-webhook");
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    emulator.injectFault({ operation: "get-webhook", workspace: "globex", fault: { status: 503 } });
    expect((await perform()).status).toBe(200);
    expect((await call(globex, "get-webhook")).status).toBe(503);
  });

  test("does not strike a call with a wrong API key", async () => {
    const { emulator, acme, perform } = await prepare("get-webhook");
    emulator.injectFault({ operation: "get-webhook", fault: { status: 503 } });
    expect((await call(acme, "get-webhook", { ChaveApi: "wrong" })).status).toBe(401);
    expect((await perform()).status).toBe(503);
  });

  test("comes after those that were injected before it", async () => {
    const { emulator, perform } = await prepare("get-webhook");
    emulator.injectFault({ operation: "get-webhook", fault: { status: 502 } });
    emulator.injectFault({ operation: "get-webhook", fault: { status: 503 } });
    expect(await statuses(3, perform)).toEqual([502, 503, 200]);
  });

  test("is forgotten by clearFaults", async () => {
    const { emulator, perform } = await prepare("get-webhook");
    emulator.injectFault({ operation: "get-webhook", times: Infinity, fault: "close-before" });
    await expect(perform()).rejects.toThrow(/fetch failed/);
    emulator.clearFaults();
    expect((await perform()).status).toBe(200);
  });

  test.each([
    [{ operation: "post-webhook", fault: "html" }, "operation"],
    [{ operation: "get-webhook", fault: "explode" }, "fault"],
    [{ operation: "get-webhook", fault: { status: 42 } }, "fault"],
    [{ operation: "get-webhook", fault: "html", times: 0 }, "times"],
    [{ operation: "get-webhook", fault: "html", every: 1.5 }, "every"],
    [{ operation: "get-webhook", fault: "html", workspace: "nobody" }, "nobody"],
    [{ operation: "get-webhook", status: 503 }, "status"],
  ])("that is none is refused: %j", async (rule, named) => {
    const { emulator } = await startAcme();
    expect(() => emulator.injectFault(rule as FaultRule)).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(named) }),
    );
  });
});

describe("a fault of the handshake", () => {
  test.each<[Fault, number, RegExp]>([
    [{ status: 503 }, 0, /HTTP 503/],
    [{ status: 302 }, 0, /redirects/],
    [{ statusField: "error" }, 0, /not the challenge/],
    ["html", 0, /not the challenge/],
    ["broken-json", 0, /not the challenge/],
    ["truncated", 0, /no answer/],
    ["close-before", 0, /no answer/],
    ["close-after", 1, /no answer/],
  ])("%j makes it fail", async (fault, sent, reason) => {
    const { emulator, perform, changed, acme, handshakes } = await prepare("set-webhook");
    emulator.injectFault({ operation: "handshake", fault });
    const answer = await perform();
    expect(answer.status).toBe(422);
    expect(acme.handshakes.at(-1)).toMatchObject({
      verdict: "failed",
      reason: expect.stringMatching(reason),
    });
    expect(changed()).toBe(false);
    expect(handshakes()).toBe(sent);
    expect((await perform()).status).toBe(200);
  });

  test("{ delayMs } within the time limit makes it late", async () => {
    const { emulator, perform } = await prepare("set-webhook");
    emulator.injectFault({ operation: "handshake", fault: { delayMs: 150 } });
    const startedAt = performance.now();
    expect((await perform()).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(145);
  });

  test("{ delayMs } beyond the time limit makes it fail, unsent", async () => {
    const { emulator, acme } = await startAcme({ handshake: { timeoutMs: 100 } });
    const { url, received } = await startEndpoint();
    emulator.injectFault({ operation: "handshake", workspace: "acme", fault: { delayMs: 60_000 } });
    expect((await set(acme, url)).text).toMatch(/within 100 ms/);
    expect(received).toEqual([]);
  });
});
