import { join } from "node:path";
import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";
import type { DeliveryRecord } from "pulumi-apichat/emulator";
import { beforeAll, expect, test, vi } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import { startReceiver, type Receiver } from "../support/receiver.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

/** At least 60 a second: a delivery does not wait for the response to the last. */
const DELIVERY_EVERY_MS = 15;
const CONVERSATIONS = 20;

let scene: Scene;
let receiver: Receiver;
let stack: TestStack;

beforeAll(async () => {
  [scene, receiver] = await Promise.all([
    openScene(["acme"], { deliveryTimeoutMs: 20_000 }),
    startReceiver(),
  ]);
  stack = await createStack(scene.backend, { program: declare("first"), environment: { CI: "false" } });
  await stack.up();
});

/** One key, the responder that accepts it and the earlier ones, and the webhook that registers it. */
function declare(rotation: string): PulumiFn {
  return async () => {
    const key = new VerificationKey("acme", { rotation });
    const responder = new HandshakeResponder("acme", {
      workspaces: { acme: { verificationKeys: key.keys, forwardTo: receiver.url } },
      dataDir: join(scene.backend.folder, "data"),
    });
    const webhook = new ApiChatWebhook("acme", {
      baseUrl: scene.emulator.workspace("acme").baseUrl,
      apiKey: API_KEY,
      webhookUrl: responder.urls.acme,
      webhookVerificationKey: key.current,
      timeouts: { readySeconds: 5 },
    });
    return { status: webhook.status };
  };
}

const registeredKey = (): string | undefined =>
  scene.emulator.workspace("acme").registration?.webhook_verification_key;

interface Pump {
  /** The result of each delivery, by number. */
  results: Promise<DeliveryRecord>[];
  /** Waits until this many more are sent, stops, and waits for all responses. */
  finish(more: number): Promise<DeliveryRecord[]>;
}

/** Sends deliveries without a pause, each with its number as text. */
function startPump(): Pump {
  const results: Promise<DeliveryRecord>[] = [];
  const send = (): void => {
    const number = results.length;
    const message = {
      sender_id: "7",
      conv_id: number % CONVERSATIONS,
      type: "text",
      message_type: "outgoing",
      private: false,
      text: String(number),
    } as const;
    results.push(scene.emulator.workspace("acme").deliver(message));
  };
  const begunMs = performance.now();
  // A late tick sends everything that is due, so that the rate holds even on a busy machine.
  const sendDue = (): void => {
    while (results.length * DELIVERY_EVERY_MS < performance.now() - begunMs) send();
  };
  const timer = setInterval(sendDue, DELIVERY_EVERY_MS);
  return {
    results,
    finish: async (more) => {
      const count = results.length + more;
      await vi.waitUntil(() => results.length >= count, { timeout: 120_000, interval: 50 });
      clearInterval(timer);
      return Promise.all(results);
    },
  };
}

/** The numbers of the deliveries that reached the receiver. */
const receivedNumbers = (): number[] =>
  receiver.received
    .map(({ body }) => Number((JSON.parse(body.toString("utf8")) as { text: string }).text))
    .toSorted((a, b) => a - b);

test("a rotation under continuous deliveries loses and rejects none, even while set-webhook fails", async () => {
  const pump = startPump();
  const keys = [registeredKey()];
  /** Checks that deliveries arrive during the work. */
  const whileDelivering = async (work: () => Promise<unknown>): Promise<void> => {
    const sentBefore = pump.results.length;
    await work();
    expect(pump.results.length).toBeGreaterThan(sentBefore);
    keys.push(registeredKey());
  };
  scene.emulator.injectFault({ operation: "set-webhook", every: 1, fault: { status: 400 } });
  stack.run(declare("second"));
  await whileDelivering(() => stack.fails("up"));
  scene.emulator.clearFaults();
  await whileDelivering(() => stack.up());
  const results = await pump.finish(200);

  const [first, failed, rotated] = keys;
  expect(failed).toBe(first);
  expect(rotated).not.toBe(first);
  expect(results.filter(({ status }) => status !== 200).map(({ reason }) => reason)).toEqual([]);
  const everyNumber = results.map((_, number) => number);
  await expect.poll(receivedNumbers, { timeout: 60_000 }).toEqual(everyNumber);
});
