import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions, Fault, FaultRule } from "../../../provider/emulator/index.js";
import { startTcpServer } from "../../support/http.js";
import {
  apiKey,
  call,
  judge,
  outbound,
  received,
  refused,
  sendTo,
  set,
  startEndpoint,
  startScene,
  startSilent,
  text,
  verificationKey,
  type Answer,
  type Scene,
} from "./harness.js";

const operations = ["get-webhook", "set-webhook", "delete-webhook", "message"] as const;
type Operation = (typeof operations)[number];

/** Prepares a registered workspace and an operation; `changed` returns whether the operation took effect. */
async function prepare(operation: Operation = "get-webhook") {
  const { emulator, acme } = await startSilent();
  const { url, received: requests } = await startEndpoint();
  await set(acme, url, "first-key");
  const perform = (): Promise<Answer> => {
    if (operation === "message") return sendTo(acme, text);
    return operation === "set-webhook" ? set(acme, url, "second-key") : call(acme, operation);
  };
  const changed = (): boolean =>
    acme.registration?.webhook_verification_key !== "first-key" || received(acme).length > 0;
  const statuses = async (count: number): Promise<number[]> => {
    const seen: number[] = [];
    for (let n = 0; n < count; n += 1) seen.push((await perform()).status);
    return seen;
  };
  return { emulator, acme, perform, statuses, changed, handshakes: () => requests.length - 1 };
}

/** Returns the parts of a response that the tests compare, or the error if there is no response. */
const outcomeOf = (answering: Promise<Answer>): Promise<unknown> =>
  answering.then(
    ({ headers, ...answer }) => ({
      ...answer,
      type: headers.get("content-type"),
      retryAfter: headers.get("retry-after"),
    }),
    (error: unknown) => String(error),
  );

describe.each(operations)("a fault of %s", (operation) => {
  test.each<[Fault, unknown, boolean]>([
    [
      { status: 429, retryAfterSeconds: 7, body: "slow" },
      { status: 429, retryAfter: "7", text: "slow" },
      false,
    ],
    [{ status: 503 }, { status: 503, retryAfter: null, body: { status: "error" } }, false],
    [{ status: 502, afterChange: true }, { status: 502, body: { status: "error" } }, true],
    [{ statusField: "pending" }, { status: 200, body: { status: "pending" } }, false],
    [{ statusField: "error", afterChange: true }, { status: 200, body: { status: "error" } }, true],
    ["broken-json", { status: 200, type: "application/json", body: undefined }, true],
    ["html", { status: 200, type: "text/html", body: undefined }, true],
    ["truncated", expect.stringContaining("terminated"), true],
    ["close-before", expect.stringContaining("fetch failed"), false],
    ["close-after", expect.stringContaining("fetch failed"), true],
  ])("%j causes the response %j; whether the operation takes effect: %s", async (fault, expected, isMade) => {
    const { emulator, perform, changed, handshakes } = await prepare(operation);
    emulator.injectFault({ operation, fault });
    expect([await outcomeOf(perform())]).toMatchObject([expected]);
    expect(changed()).toBe(isMade && operation !== "get-webhook");
    expect(handshakes()).toBe(isMade && operation === "set-webhook" ? 1 : 0);
    const isClosed = fault === "close-before" || fault === "close-after";
    const record = emulator.requests.at(-1);
    expect([record?.fault, record?.response === null]).toEqual([JSON.stringify(fault), isClosed]);
    expect((await perform()).status).toBe(200);
  });
});

test.each([
  ["postpones the change and the response", { delayMs: 1_000 }, false],
  ["with afterChange postpones only the response", { delayMs: 1_000, afterChange: true }, true],
])("a delay %s", async (_what, fault, early) => {
  const { emulator, perform, changed } = await prepare("delete-webhook");
  emulator.injectFault({ operation: "delete-webhook", fault });
  const answering = perform();
  await expect.poll(() => emulator.requests).toHaveLength(2);
  expect([changed(), emulator.requests[1]?.response]).toEqual([early, null]);
  expect((await answering).status).toBe(200);
  expect(changed()).toBe(true);
  // A timer may fire up to 1 ms early.
  expect(emulator.requests[1]?.durationMs).toBeGreaterThanOrEqual(999);
});

describe("a rule", () => {
  test.each<[string, Omit<FaultRule, "operation" | "fault">, number[]]>([
    ["only the next call", {}, [503, 200, 200, 200, 200, 200]],
    ["the next `times` calls", { times: 2 }, [503, 503, 200, 200, 200, 200]],
    ["every call", { every: 1 }, [503, 503, 503, 503, 503, 503]],
    ["every n-th call", { every: 3 }, [200, 200, 503, 200, 200, 503]],
    ["every n-th call, at most `times` times", { every: 2, times: 1 }, [200, 503, 200, 200, 200, 200]],
  ])("applies to %s", async (_what, rule, expected) => {
    const { emulator, statuses } = await prepare();
    emulator.injectFault({ operation: "get-webhook", fault: { status: 503 }, ...rule });
    expect(await statuses(6)).toEqual(expected);
  });

  test("applies only to its operation and workspace, and not to calls with a wrong key", async () => {
    const { emulator, acme } = await prepare();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const rules: Partial<FaultRule>[] = [
      { workspace: "globex", fault: { status: 501 } },
      { operation: "delete-webhook", fault: { status: 502 } },
      { operation: "message", fault: { status: 504 } },
      {},
    ];
    for (const rule of rules)
      emulator.injectFault({ operation: "get-webhook", fault: { status: 503 }, ...rule });
    const answers = [
      await call(acme, "get-webhook", { ChaveApi: "wrong" }),
      await call(acme, "get-webhook"),
      await call(acme, "get-webhook"),
      await call(globex, "get-webhook"),
      await call(acme, "delete-webhook"),
      await sendTo(acme, text, { headers: {} }),
      await sendTo(acme, text),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 503, 200, 501, 502, 401, 504]);
  });

  test.each([
    [{ operation: "get-webhook", fault: "explode" }, "fault"],
    [{ operation: "get-webhook", fault: { status: 42 } }, "fault.status"],
    [{ operation: "get-webhook", fault: "html", workspace: "nobody" }, "nobody"],
    [{ operation: "message", fault: "reorder" }, "fault: is not a fault of this operation"],
    [{ operation: "delivery", fault: { statusField: "x" } }, "fault: is not a fault of this operation"],
  ])("is rejected if it is invalid: %j", async (rule, named) => {
    const { emulator } = await startSilent();
    expect(() => emulator.injectFault(rule as FaultRule)).toThrow(refused(named));
  });
});

describe("a fault of the handshake", () => {
  test.each<[Fault, number, RegExp]>([
    [{ status: 503 }, 0, /HTTP 503/],
    [{ statusField: "error" }, 0, /not the challenge/],
    ["html", 0, /not the challenge/],
    ["broken-json", 0, /not the challenge/],
    ["truncated", 0, /no response/],
    ["close-before", 0, /no response/],
    ["close-after", 1, /no response/],
  ])("%j fails the handshake", async (fault, sent, reason) => {
    const { emulator, perform, changed, acme, handshakes } = await prepare("set-webhook");
    emulator.injectFault({ operation: "handshake", fault });
    expect((await perform()).status).toBe(422);
    const failed = { verdict: "failed", fault: JSON.stringify(fault), reason: expect.stringMatching(reason) };
    expect(acme.handshakes.at(-1)).toMatchObject(failed);
    expect(changed()).toBe(false);
    expect(handshakes()).toBe(sent);
    expect((await perform()).status).toBe(200);
  });

  test.each([
    ["delays the handshake", 5000, 150, "passed", 1],
    ["beyond the time limit fails the handshake without sending it", 100, 60_000, "failed", 0],
  ])("{ delayMs } %s", async (_what, timeoutMs, delayMs, verdict, sent) => {
    const { emulator, acme } = await startSilent({ handshake: { timeoutMs } });
    const { url, received: requests } = await startEndpoint();
    emulator.injectFault({ operation: "handshake", workspace: "acme", fault: { delayMs } });
    await set(acme, url);
    expect(acme.handshakes).toMatchObject([{ verdict }]);
    expect(acme.handshakes[0]?.durationMs).toBeGreaterThanOrEqual(Math.min(timeoutMs, delayMs) - 1);
    expect(requests).toHaveLength(sent);
  });
});

/** Sends one delivery, to which this fault applies. */
async function deliverWithFault(fault: Fault, options: EmulatorOptions = {}) {
  const scene = await startScene(options);
  scene.emulator.injectFault({ operation: "delivery", fault });
  const matched = await scene.acme.deliver(outbound("matched"));
  return { ...scene, matched };
}

const deliverAll = ({ acme }: Scene, texts: string[]): Promise<unknown> =>
  Promise.all(texts.map((content) => acme.deliver(outbound(content))));

describe("a fault of a delivery", () => {
  test.each<[Fault, number, RegExp]>([
    [{ status: 503 }, 0, /HTTP 503/],
    [{ status: 503, afterChange: true }, 1, /HTTP 503/],
    ["close-before", 0, /connection was closed/],
    ["close-after", 1, /connection was closed/],
    [{ delayMs: 60_000, afterChange: true }, 1, /no response within 3000 ms/],
  ])(
    "%j lets %i requests through and fails the delivery, but not the next delivery",
    async (fault, sent, reason) => {
      const { matched, acme, deliveries } = await deliverWithFault(fault, { deliveryTimeoutMs: 3000 });
      expect(matched).toMatchObject({ verdict: "failed", reason: expect.stringMatching(reason) });
      expect(matched.attempts).toMatchObject([{ fault: JSON.stringify(fault) }]);
      expect(deliveries()).toHaveLength(sent);
      const next = await acme.deliver(outbound("next"));
      expect(next).toMatchObject({ verdict: "delivered", attempts: [{ fault: "" }] });
    },
  );

  test("{ delayMs } delays the delivery and the ones behind it", async () => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", fault: { delayMs: 100 } });
    await deliverAll(scene, ["late", "behind"]);
    expect(scene.texts()).toEqual(["late", "behind"]);
    expect(scene.acme.deliveries[0]?.attempts[0]?.durationMs).toBeGreaterThanOrEqual(99);
  });

  test("wrong-signature sends a signature that a receiver rejects", async () => {
    const { matched, deliveries } = await deliverWithFault("wrong-signature");
    expect([matched.signature, await judge(deliveries()[0])]).toEqual(["wrong", 401]);
  });

  test("broken-json omits the end of the body, but keeps the signature of the whole body", async () => {
    const { matched, deliveries } = await deliverWithFault("broken-json");
    expect(deliveries()[0]?.body).toBe(matched.request.body.slice(0, -4));
    expect(matched.signature).toBe("right");
  });

  test("truncated ends the connection in the middle of the body", async () => {
    const { promise: heard, resolve } = Promise.withResolvers<string>();
    const { url } = await startTcpServer(async (socket) => resolve((await buffer(socket)).toString()));
    const { emulator, acme } = await startSilent();
    acme.takeOver({ webhook_url: url, webhook_verification_key: verificationKey });
    emulator.injectFault({ operation: "delivery", fault: "truncated" });
    const matched = await acme.deliver(outbound("in the middle"));
    expect(matched).toMatchObject({ verdict: "failed", reason: "no response: the connection was closed" });
    const [head = "", body = ""] = (await heard).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`content-length: ${matched.request.body.length}\\b`, "i"));
    expect(body).toBe(matched.request.body.slice(0, Math.floor(matched.request.body.length / 2)));
  });

  test("duplicate sends the same bytes as two deliveries", async () => {
    const { matched, acme, deliveries } = await deliverWithFault("duplicate");
    const [one, two, ...more] = deliveries();
    expect([two?.body, await judge(two), more]).toEqual([one?.body, 200, []]);
    expect(acme.deliveries).toMatchObject([
      { id: matched.id, verdict: "delivered" },
      { resendOf: matched.id, verdict: "delivered" },
    ]);
  });

  test.each([
    ["swaps one delivery with the next one of its conversation", {}, ["a", "b", "c"], ["b", "a", "c"]],
    ["with every: 1 swaps each pair of deliveries", { every: 1 }, ["a", "b", "c", "d"], ["b", "a", "d", "c"]],
    ["sends a delivery alone if none follows", {}, ["a"], ["a"]],
  ])("reorder %s", async (_what, rule, sent, arrived) => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", fault: "reorder", ...rule });
    await deliverAll(scene, sent);
    expect(scene.texts()).toEqual(arrived);
  });
});
