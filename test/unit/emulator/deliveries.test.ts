import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { encodeMessage } from "../../../provider/emulator/deliveries/record.js";
import type { OutboundMessage } from "../../../schema/index.js";
import { apiKey, startAcme } from "./harness.js";
import { judge, outbound, say, startScene, waitForDeliveries } from "./delivery-harness.js";

const conversationOf = (body: string): number => (JSON.parse(body) as { conv_id: number }).conv_id;

describe("deliveries", () => {
  test("of one conversation come in order and one at a time, those of others meanwhile", async () => {
    const open: number[] = [];
    let mostAtOnce = 0;
    const together: number[] = [];
    const scene = await startScene({}, (delivery, response) => {
      const conversation = conversationOf(delivery.body);
      if (open.includes(conversation)) together.push(conversation);
      open.push(conversation);
      mostAtOnce = Math.max(mostAtOnce, open.length);
      // Long enough for others to come in between.
      setTimeout(() => {
        open.splice(open.indexOf(conversation), 1);
        response.end();
      }, 5);
    });
    const rounds = Array.from({ length: 10 }, (_, round) => round);
    await Promise.all(
      Array.from({ length: 8 }, async (_, conversation) => {
        for (const round of rounds) await say(scene.acme, `message ${round}`, conversation);
      }),
    );
    await waitForDeliveries(scene, 80);
    expect(together).toEqual([]);
    expect(mostAtOnce).toBeGreaterThan(1);
    for (let conversation = 0; conversation < 8; conversation += 1) {
      const texts = scene.deliveries().filter(({ body }) => conversationOf(body) === conversation);
      expect(texts.map(({ body }) => (JSON.parse(body) as { text: string }).text)).toEqual(
        rounds.map((round) => `message ${round}`),
      );
    }
  });

  test("wait for the delivery before them, also while that is tried again", async () => {
    const statuses = [503, 503, 200];
    const scene = await startScene({ deliveryAttempts: 3, deliveryRetryMs: 20 }, (_, response) =>
      response.writeHead(statuses.shift() ?? 200).end(),
    );
    const results = await Promise.all([
      scene.acme.deliver(outbound("first")),
      scene.acme.deliver(outbound("second")),
    ]);
    expect(scene.texts()).toEqual(["first", "first", "first", "second"]);
    expect(results.map(({ attempts }) => attempts.length)).toEqual([3, 1]);
  });

  test("go to what is registered when they are tried, signed with its key", async () => {
    let release: ServerResponse | undefined;
    const scene = await startScene({}, (_, response) => {
      if (release) response.end();
      else release = response;
    });
    const first = scene.acme.deliver(outbound("first"));
    const second = scene.acme.deliver(outbound("second"));
    await waitForDeliveries(scene, 1);
    scene.acme.change({ webhook_verification_key: "rotated-key" });
    release?.end();
    expect([await first, await second]).toMatchObject([{ signature: "right" }, { signature: "right" }]);
    expect(await judge(scene.deliveries()[0])).toBe(200);
    expect(await judge(scene.deliveries()[1], "rotated-key")).toBe(200);
  });

  test("fail when the registration is gone by then", async () => {
    let release: ServerResponse | undefined;
    const scene = await startScene({}, (_, response) => (release = response));
    const first = scene.acme.deliver(outbound("first"));
    const second = scene.acme.deliver(outbound("second"));
    await waitForDeliveries(scene, 1);
    scene.acme.remove();
    release?.end();
    expect((await first).verdict).toBe("delivered");
    expect(await second).toMatchObject({
      verdict: "failed",
      reason: "no verified webhook is registered any more",
    });
    expect(scene.deliveries()).toHaveLength(1);
  });

  test("are not begun while nothing is registered: the reply is in its conversation alone", async () => {
    const { acme } = await startAcme();
    await say(acme, "hello");
    await expect.poll(() => acme.conversations[0]?.messages).toHaveLength(2);
    expect(acme.conversations[0]?.messages[1]).toMatchObject({ from: "flow", delivery: null });
    expect(acme.deliveries).toEqual([]);
  });

  test("made by hand stand in their conversation", async () => {
    const { acme } = await startScene();
    const { id, conversation } = await acme.deliver(outbound("by hand", 7));
    expect(acme.conversations).toMatchObject([
      { id: conversation, conversationId: "7", messages: [{ from: "flow", delivery: id }] },
    ]);
  });

  test("that wait for an unanswered one are forgotten with their workspace", async () => {
    const scene = await startScene({}, () => undefined);
    scene.emulator.addWorkspace({ name: "other", apiKey });
    const results = [scene.acme.deliver(outbound("first")), scene.acme.deliver(outbound("second"))];
    await waitForDeliveries(scene, 1);
    scene.emulator.removeWorkspace("acme");
    expect(await Promise.all(results)).toMatchObject([{ verdict: "failed" }, { verdict: "failed" }]);
    expect(scene.deliveries()).toHaveLength(1);
  });
});

describe("the body as PHP writes it", () => {
  /** What `json_encode` of PHP 8 prints for the same values. */
  test.each([
    ["é", String.raw`\u00e9`],
    ["👋", String.raw`\ud83d\udc4b`],
    ["https://a.example/b", String.raw`https:\/\/a.example\/b`],
    ['a "b" \\ c', String.raw`a \"b\" \\ c`],
    ["\n\t\u0001", String.raw`\n\t\u0001`],
    ["\u2028", String.raw`\u2028`],
    ["<&'>", "<&'>"],
  ])("%j", (text, written) => {
    const { body } = encodeMessage(outbound(text), "php");
    expect(body).toBe(
      '{"sender_id":"contact-1","conv_id":1,"type":"text","message_type":"outgoing","private":false,' +
        `"text":"${written}"}`,
    );
  });

  test("keeps the digits of a conversation id beyond the safe integers", () => {
    const message = { ...outbound("é"), conv_id: 9007199254740993n } as OutboundMessage;
    expect(encodeMessage(message, "php").body).toContain('"conv_id":9007199254740993}');
  });
});

describe("the pause of a reply", () => {
  test("counts from the reply before it", async () => {
    const scene = await startScene({
      flow: () => [
        { type: "text", text: "one", delayMs: 40 },
        { type: "text", text: "two", delayMs: 60 },
        { type: "text", text: "three" },
      ],
    });
    await say(scene.acme, "hello");
    await waitForDeliveries(scene, 3);
    expect(scene.texts()).toEqual(["one", "two", "three"]);
    const [one, two, three] = scene.acme.deliveries.map(({ dueAt }) => Date.parse(dueAt));
    expect((two ?? 0) - (one ?? 0)).toBe(60);
    expect(three).toBe(two);
    for (const { dueAt, attempts } of scene.acme.deliveries) {
      expect(Date.parse(attempts[0]?.at ?? "")).toBeGreaterThanOrEqual(Date.parse(dueAt) - 1);
    }
  });

  test("does not hold up the emulator's end, nor a reset", async () => {
    const scene = await startScene({ flow: () => [{ type: "text", text: "late", delayMs: 3_600_000 }] });
    await say(scene.acme, "hello");
    await expect.poll(() => scene.acme.deliveries).toMatchObject([{ verdict: "pending" }]);
    await scene.emulator.reset();
    expect(scene.acme.deliveries).toEqual([]);
    await say(scene.acme, "hello");
    await expect.poll(() => scene.acme.deliveries).toMatchObject([{ verdict: "pending" }]);
    await scene.emulator.close();
    expect(scene.acme.deliveries).toMatchObject([{ verdict: "pending", attempts: [] }]);
    expect(scene.deliveries()).toEqual([]);
  });
});
