import { describe, expect, test } from "vitest";
import type { Fault, FaultRule } from "../../../provider/emulator/index.js";
import { apiKey, call, refused, set, startAcme, startEndpoint, type Answer } from "./harness.js";

const actions = ["get-webhook", "set-webhook", "delete-webhook"] as const;
type Action = (typeof actions)[number];

/** A registered workspace, and an operation ready to be called; `changed` tells whether it was carried out. */
async function prepare(action: Action = "get-webhook") {
  const { emulator, acme } = await startAcme();
  const { url, received } = await startEndpoint();
  await set(acme, url, "first-key");
  const perform = (): Promise<Answer> =>
    action === "set-webhook" ? set(acme, url, "second-key") : call(acme, action);
  const changed = (): boolean => acme.registration?.webhook_verification_key !== "first-key";
  const statuses = async (count: number): Promise<number[]> => {
    const seen: number[] = [];
    for (let n = 0; n < count; n += 1) seen.push((await perform()).status);
    return seen;
  };
  return { emulator, acme, perform, statuses, changed, handshakes: () => received.length - 1 };
}

/** What a caller sees: what is asked for of an answer, or why there is none. */
const outcomeOf = (answering: Promise<Answer>): Promise<unknown> =>
  answering.then(
    ({ status, headers, text, body }) => ({
      status,
      type: headers.get("content-type"),
      retryAfter: headers.get("retry-after"),
      text,
      body,
    }),
    (error: unknown) => String(error),
  );

const json = "application/json";

describe.each(actions)("a fault of %s", (operation) => {
  test.each<[Fault, unknown, boolean]>([
    [
      { status: 429, retryAfterSeconds: 7, body: "slow down" },
      { status: 429, retryAfter: "7", text: "slow down" },
      false,
    ],
    [{ status: 503 }, { status: 503, retryAfter: null, body: { status: "error" } }, false],
    [{ status: 502, afterChange: true }, { status: 502, body: { status: "error" } }, true],
    [{ statusField: "pending" }, { status: 200, body: { status: "pending" } }, false],
    [{ statusField: "error", afterChange: true }, { status: 200, body: { status: "error" } }, true],
    [
      "broken-json",
      { status: 200, type: json, text: expect.stringMatching(/^\{"status":"ok"/), body: undefined },
      true,
    ],
    ["html", { status: 200, type: "text/html", text: expect.stringMatching(/^<!doctype html>/) }, true],
    ["truncated", expect.stringContaining("terminated"), true],
    ["close-before", expect.stringContaining("fetch failed"), false],
    ["close-after", expect.stringContaining("fetch failed"), true],
  ])("%j is answered with %j, the change made %s", async (fault, expected, isMade) => {
    const { emulator, perform, changed, handshakes } = await prepare(operation);
    emulator.injectFault({ operation, fault });
    const outcome = await outcomeOf(perform());
    expect([outcome]).toMatchObject([expected]);
    expect(changed()).toBe(isMade && operation !== "get-webhook");
    expect(handshakes()).toBe(isMade && operation === "set-webhook" ? 1 : 0);
    const isClosed = fault === "close-before" || fault === "close-after";
    const record = emulator.requests.at(-1);
    expect([record?.fault, record?.received === null]).toEqual([JSON.stringify(fault), isClosed]);
    expect((await perform()).status).toBe(200);
  });
});

describe("a delay", () => {
  const operation = "delete-webhook";

  test("makes the change and answers when it is over", async () => {
    const { emulator, perform, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault: { delayMs: 200 } });
    const startedAt = performance.now();
    const answering = perform();
    await expect.poll(() => emulator.requests).toHaveLength(2);
    expect(changed()).toBe(false);
    expect((await answering).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(195);
    expect(changed()).toBe(true);
  });

  test("with afterChange makes the change and leaves the caller waiting", async () => {
    const { emulator, acme, perform, changed } = await prepare(operation);
    emulator.injectFault({ operation, fault: { delayMs: 60_000, afterChange: true } });
    const outcome = outcomeOf(perform());
    await expect.poll(() => changed()).toBe(true);
    expect((await call(acme, "get-webhook")).status).toBe(200);
    await emulator.close();
    expect(await outcome).toContain("fetch failed");
  });
});

/** What 40 calls are answered under a rule. */
const matchedBy = async (rule: Partial<FaultRule>): Promise<number[]> => {
  const { emulator, statuses } = await prepare();
  emulator.injectFault({ operation: "get-webhook", fault: { status: 503 }, probability: 0.5, ...rule });
  return statuses(40);
};

describe("a rule", () => {
  test.each<[string, Omit<FaultRule, "operation" | "fault">, number[]]>([
    ["its next call alone", {}, [503, 200, 200, 200, 200, 200]],
    ["the next `times` calls", { times: 2 }, [503, 503, 200, 200, 200, 200]],
    ["every call", { times: Infinity }, [503, 503, 503, 503, 503, 503]],
    ["one call in so many", { every: 3 }, [200, 200, 503, 200, 200, 503]],
    ["one call in so many, `times` times", { every: 2, times: 1 }, [200, 503, 200, 200, 200, 200]],
    ["no call with probability 0", { probability: 0 }, [200, 200, 200, 200, 200, 200]],
    ["every call with probability 1", { probability: 1 }, [503, 503, 503, 503, 503, 503]],
  ])("is for %s", async (_what, rule, expected) => {
    const { emulator, statuses } = await prepare();
    emulator.injectFault({ operation: "get-webhook", fault: { status: 503 }, ...rule });
    expect(await statuses(6)).toEqual(expected);
  });

  test("with a probability matches the same calls with the same seed, 1 if none is given", async () => {
    const first = await matchedBy({ seed: 7 });
    expect(new Set(first)).toEqual(new Set([200, 503]));
    expect(await matchedBy({ seed: 7 })).toEqual(first);
    expect(await matchedBy({ seed: 8 })).not.toEqual(first);
    expect(await matchedBy({})).toEqual(await matchedBy({ seed: 1 }));
    expect((await matchedBy({ times: 2 })).filter((status) => status === 503)).toHaveLength(2);
  });

  test("is for its operation and its workspace, and for no call with a wrong API key", async () => {
    const { emulator, acme } = await prepare();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    emulator.injectFault({ operation: "get-webhook", workspace: "globex", fault: { status: 501 } });
    emulator.injectFault({ operation: "delete-webhook", fault: { status: 502 } });
    emulator.injectFault({ operation: "get-webhook", fault: { status: 503 } });
    expect((await call(acme, "get-webhook", { ChaveApi: "wrong" })).status).toBe(401);
    expect((await call(acme, "get-webhook")).status).toBe(503);
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect((await call(globex, "get-webhook")).status).toBe(501);
    expect((await call(acme, "delete-webhook")).status).toBe(502);
  });

  test("comes after those that were injected before it, and is forgotten by clearFaults", async () => {
    const { emulator, statuses } = await prepare();
    emulator.injectFault({ operation: "get-webhook", fault: { status: 502 } });
    emulator.injectFault({ operation: "get-webhook", times: Infinity, fault: { status: 503 } });
    expect(await statuses(3)).toEqual([502, 503, 503]);
    emulator.clearFaults();
    expect(await statuses(1)).toEqual([200]);
  });

  test.each([
    [{ operation: "post-webhook", fault: "html" }, "operation"],
    [{ operation: "get-webhook", fault: "explode" }, "fault"],
    [{ operation: "get-webhook", fault: { status: 42 } }, "fault"],
    [{ operation: "get-webhook", fault: "html", times: 0 }, "times"],
    [{ operation: "get-webhook", fault: "html", every: 1.5 }, "every"],
    [{ operation: "get-webhook", fault: "html", probability: 1.5 }, "probability"],
    [{ operation: "get-webhook", fault: "html", seed: 0.5 }, "seed"],
    [{ operation: "get-webhook", fault: "html", workspace: "nobody" }, "nobody"],
    [{ operation: "get-webhook", status: 503 }, "status"],
    [{ operation: "get-webhook", fault: "wrong-signature" }, "'wrong-signature' is a fault of the operation"],
    [{ operation: "message", fault: "reorder" }, "not of message"],
    [{ operation: "handshake", fault: "duplicate" }, "not of handshake"],
    [{ operation: "delivery", fault: "html" }, "'html' is a fault of answers"],
    [{ operation: "delivery", fault: { statusField: "x" } }, "{ statusField } is a fault of answers"],
  ])("that is none is refused: %j", async (rule, named) => {
    const { emulator } = await startAcme();
    expect(() => emulator.injectFault(rule as FaultRule)).toThrow(refused(named));
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
    expect((await perform()).status).toBe(422);
    const failed = { verdict: "failed", reason: expect.stringMatching(reason) };
    expect(acme.handshakes.at(-1)).toMatchObject(failed);
    expect(changed()).toBe(false);
    expect(handshakes()).toBe(sent);
    expect((await perform()).status).toBe(200);
  });

  test("{ delayMs } makes it late, and beyond the time limit fail, unsent", async () => {
    const { emulator, acme } = await startAcme({ handshake: { timeoutMs: 5000 } });
    const { url, received } = await startEndpoint();
    const startedAt = performance.now();
    emulator.injectFault({ operation: "handshake", fault: { delayMs: 150 } });
    expect((await set(acme, url)).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(145);
    const hasty = await startAcme({ handshake: { timeoutMs: 100 } });
    hasty.emulator.injectFault({ operation: "handshake", workspace: "acme", fault: { delayMs: 60_000 } });
    expect((await set(hasty.acme, url)).text).toMatch(/within 100 ms/);
    expect(received).toHaveLength(1);
  });
});
