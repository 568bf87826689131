import { describe, expect, test } from "vitest";
import type { EmulatorEvent } from "../../../provider/emulator/control/shapes.js";
import type { Flow } from "../../../provider/emulator/flows/flow.js";
import {
  MEDIA_KINDS,
  outboundKindOf,
  parseOutbound,
  type OutboundButtonTemplate,
} from "../../../schema/index.js";
import { samples } from "../../../provider/emulator/flows/samples.js";
import { attach, press, say, startScene, waitForDeliveries } from "./delivery-harness.js";

const bodyOf = (delivery: { body: string } | undefined): Record<string, unknown> =>
  JSON.parse(delivery?.body ?? "{}") as Record<string, unknown>;

describe("echo", () => {
  test("is the flow where none is named, and says a text again", async () => {
    const scene = await startScene();
    await say(scene.acme, "Olá {{name}}", 42);
    const [delivery] = await waitForDeliveries(scene, 1);
    expect(bodyOf(delivery)).toEqual({
      sender_id: "contact-1",
      conv_id: 42,
      type: "text",
      message_type: "outgoing",
      private: false,
      text: "Olá {{name}}",
    });
  });

  test("says which button was pressed", async () => {
    const scene = await startScene();
    await press(scene.acme, "Sim", "yes");
    expect(bodyOf((await waitForDeliveries(scene, 1))[0])).toMatchObject({ text: "You pressed Sim" });
  });

  test.each(MEDIA_KINDS)("gives media of the same kind back: %s", async (kind) => {
    const scene = await startScene();
    await attach(scene.acme, kind, "https://cdn.example/media");
    expect(bodyOf((await waitForDeliveries(scene, 1))[0])).toMatchObject({
      type: kind,
      url: "https://cdn.example/media",
    });
  });
});

describe("menu", () => {
  test("shows all seven kinds, by the buttons of its template", async () => {
    const scene = await startScene({ flow: "menu" });
    await say(scene.acme, "anything");
    const [menu] = await waitForDeliveries(scene, 1);
    const { buttons } = (bodyOf(menu) as unknown as OutboundButtonTemplate).content_attributes;
    for (const { title, payload } of buttons) await press(scene.acme, title, payload);
    const deliveries = await waitForDeliveries(scene, 1 + buttons.length);
    expect(new Set(deliveries.map(({ body }) => parseOutbound(body).kind))).toEqual(
      new Set(["text", "button_template", "generic_template", ...MEDIA_KINDS]),
    );
  });

  test("answers a button of a card", async () => {
    const scene = await startScene({ flow: "menu" });
    await press(scene.acme, "Choose 2", "choose-2");
    expect(bodyOf((await waitForDeliveries(scene, 1))[0])).toMatchObject({ text: "You chose card 2." });
  });

  test.each(MEDIA_KINDS)("gives %s from the emulator itself", async (kind) => {
    const scene = await startScene({ flow: "menu" });
    await press(scene.acme, kind, kind);
    const body = bodyOf((await waitForDeliveries(scene, 1))[0]);
    expect(outboundKindOf(body)).toBe(kind);
    const path = String(body.url).replace(scene.emulator.url, "");
    expect([...samples.keys()]).toContain(path);
  });
});

test("the samples begin as files of their kinds do", () => {
  const starts = [...samples.values()].map(({ bytes }) => Buffer.from(bytes.subarray(0, 4)).toString("hex"));
  const png = "89504e47";
  const riff = "52494646";
  const webm = "1a45dfa3";
  expect(starts).toEqual([png, riff, webm, Buffer.from("A sa").toString("hex")]);
  for (const { bytes } of samples.values()) expect(bytes.length).toBeLessThan(16 * 1024);
});

test("silent takes a message and says nothing", async () => {
  const scene = await startScene({ flow: "silent" });
  await say(scene.acme, "hello");
  await expect.poll(() => scene.acme.conversations[0]?.messages[0]).toMatchObject({ unanswered: false });
  expect(scene.acme.deliveries).toEqual([]);
});

describe("a function", () => {
  test("is asked one message of a conversation after the other, however long it takes", async () => {
    const asked: string[] = [];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const flow: Flow = async ({ message, messagesBefore }) => {
      asked.push(message.content);
      if (messagesBefore === 0) await released;
      return [{ type: "text", text: `${messagesBefore}: ${message.content}` }];
    };
    const scene = await startScene({ flow });
    await say(scene.acme, "first");
    await say(scene.acme, "second");
    await say(scene.acme, "elsewhere", 2);
    await expect.poll(() => asked).toEqual(["first", "elsewhere"]);
    release();
    await waitForDeliveries(scene, 3);
    const here = scene.deliveries().filter(({ body }) => bodyOf({ body }).conv_id === 1);
    expect(here.map((delivery) => bodyOf(delivery).text)).toEqual(["0: first", "1: second"]);
  });

  test.each<[string, Flow, RegExp]>([
    [
      "throws",
      () => {
        throw new Error("out of words");
      },
      /^out of words$/,
    ],
    ["rejects", () => Promise.reject(new Error("out of words")), /^out of words$/],
    ["gives no list", (() => "hello") as unknown as Flow, /not valid/],
    ["gives no reply", (() => [{ type: "text" }]) as unknown as Flow, /not valid[^]*text/],
    ["gives an unknown field", (() => [{ type: "text", text: "", delay: 1 }]) as unknown as Flow, /delay/],
  ])("that %s replies nothing, and is told of", async (_does, flow, reason) => {
    const scene = await startScene({ flow });
    const events: EmulatorEvent[] = [];
    scene.emulator.subscribe((event) => events.push(event));
    await say(scene.acme, "hello");
    await expect
      .poll(() => events)
      .toContainEqual({
        type: "flow-failed",
        failure: expect.objectContaining({ workspace: "acme", reason: expect.stringMatching(reason) }),
      });
    expect(scene.acme.conversations[0]?.messages).toMatchObject([{ from: "contact", unanswered: false }]);
    expect(scene.acme.deliveries).toEqual([]);
  });

  test("that still thinks when the emulator closes leaves the message unanswered", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    const flow: Flow = async () => {
      await released;
      finish();
      return [{ type: "text", text: "too late" }];
    };
    const scene = await startScene({ flow });
    await say(scene.acme, "hello");
    await scene.emulator.close();
    release();
    await done;
    expect(scene.acme.conversations[0]?.messages).toMatchObject([{ unanswered: true }]);
  });
});
