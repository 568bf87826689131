import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import {
  answering,
  judge,
  outbound,
  say,
  startAcme,
  startScene,
  waitForDeliveries,
  type Scene,
} from "./harness.js";

const conversationOf = (body: string): number => (JSON.parse(body) as { conv_id: number }).conv_id;

/** Two deliveries of one conversation; the first is answered by `release`. */
async function startTwo(): Promise<
  Scene & { results: ReturnType<Scene["acme"]["deliver"]>[]; release: () => void }
> {
  const held: ServerResponse[] = [];
  const scene = await startScene({}, (_, response) => {
    if (held.push(response) > 1) response.end();
  });
  const results = [scene.acme.deliver(outbound("first")), scene.acme.deliver(outbound("second"))];
  await waitForDeliveries(scene, 1);
  return { ...scene, results, release: () => held[0]?.end() };
}

describe("deliveries", () => {
  test("of one conversation come in order and one at a time, those of others meanwhile", async () => {
    const open: number[] = [];
    let mostAtOnce = 0;
    const together: number[] = [];
    const scene = await startScene({}, (delivery, response) => {
      const conversation = conversationOf(delivery.body);
      if (open.includes(conversation)) together.push(conversation);
      mostAtOnce = Math.max(mostAtOnce, open.push(conversation));
      // Long enough for others to come in between.
      setTimeout(() => {
        open.splice(open.indexOf(conversation), 1);
        response.end();
      }, 5);
    });
    const rounds = Array.from({ length: 10 }, (_, round) => `message ${round}`);
    const conversations = Array.from({ length: 8 }, (_, conversation) => conversation);
    await Promise.all(
      conversations.map(async (conversation) => {
        for (const content of rounds) await say(scene.acme, content, conversation);
      }),
    );
    await waitForDeliveries(scene, 80);
    expect(together).toEqual([]);
    expect(mostAtOnce).toBeGreaterThan(1);
    const textsOf = Map.groupBy(scene.deliveries(), ({ body }) => conversationOf(body));
    for (const conversation of conversations) {
      const texts = textsOf.get(conversation)?.map(({ body }) => (JSON.parse(body) as { text: string }).text);
      expect(texts).toEqual(rounds);
    }
  });

  test("wait for the delivery before them, also while that is tried again", async () => {
    const options = { deliveryAttempts: 3, deliveryRetryMs: 20 };
    const { acme, texts } = await startScene(options, answering(503, 503));
    const results = await Promise.all(["first", "second"].map((text) => acme.deliver(outbound(text))));
    expect(texts()).toEqual(["first", "first", "first", "second"]);
    expect(results.map(({ attempts }) => attempts.length)).toEqual([3, 1]);
  });

  test("go to what is registered when they are tried, signed with its key", async () => {
    const { acme, results, release, deliveries } = await startTwo();
    acme.change({ webhook_verification_key: "chave-é-nova" });
    release();
    expect(await Promise.all(results)).toMatchObject([{ signature: "right" }, { signature: "right" }]);
    expect(await judge(deliveries()[0])).toBe(200);
    expect(await judge(deliveries()[1], "chave-é-nova")).toBe(200);
  });

  test("fail when the registration is gone by then", async () => {
    const { acme, results, release, deliveries } = await startTwo();
    acme.remove();
    release();
    expect(await Promise.all(results)).toMatchObject([
      { verdict: "delivered" },
      { verdict: "failed", reason: "no verified webhook is registered any more" },
    ]);
    expect(deliveries()).toHaveLength(1);
  });

  test("are forgotten with their workspace, also while they wait for an unanswered one", async () => {
    const { emulator, results, deliveries } = await startTwo();
    emulator.removeWorkspace("acme");
    expect(await Promise.all(results)).toMatchObject([{ verdict: "failed" }, { verdict: "failed" }]);
    expect(deliveries()).toHaveLength(1);
  });

  test("are not begun while nothing is registered: the reply is in its conversation alone", async () => {
    const { acme } = await startAcme();
    await say(acme, "hello");
    await expect.poll(() => acme.conversations[0]?.messages).toHaveLength(2);
    expect(acme.conversations[0]?.messages[1]).toMatchObject({ from: "flow", delivery: null });
    expect(acme.deliveries).toEqual([]);
  });
});

describe("the pause of a reply", () => {
  test("counts from the reply before it, however long that takes", async () => {
    const scene = await startScene({
      flow: () => [
        { type: "text", text: "one", delayMs: 3_600_000 },
        { type: "text", text: "two", delayMs: 60 },
        { type: "text", text: "three" },
      ],
    });
    await say(scene.acme, "hello");
    await expect.poll(() => scene.acme.deliveries).toHaveLength(3);
    const [one = 0, two, three] = scene.acme.deliveries.map(({ dueAt }) => Date.parse(dueAt));
    expect([two, three]).toEqual([one + 60, one + 60]);
  });

  test("passes before the reply is delivered", async () => {
    const scene = await startScene({ flow: () => [{ type: "text", text: "late", delayMs: 40 }] });
    await say(scene.acme, "hello");
    await expect.poll(() => scene.acme.deliveries).toMatchObject([{ attempts: [{}] }]);
    const [{ dueAt, attempts } = { dueAt: "", attempts: [] }] = scene.acme.deliveries;
    expect(Date.parse(attempts[0]?.at ?? "")).toBeGreaterThanOrEqual(Date.parse(dueAt) - 1);
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
