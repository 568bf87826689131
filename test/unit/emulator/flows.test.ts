import { describe, expect, test } from "vitest";
import type { EmulatorEvent } from "../../../provider/emulator/index.js";
import type { Flow } from "../../../provider/emulator/flows/flow.js";
import { samples } from "../../../provider/emulator/flows/samples.js";
import { MEDIA_KINDS, parseOutbound, type OutboundButtonTemplate } from "../../../schema/index.js";
import {
  operations,
  outbound,
  press,
  say,
  sendTo,
  startScene,
  waitForDeliveries,
  type Scene,
} from "./harness.js";

/** The body of the next delivery of a scene that had so many. */
const replyOf = async (scene: Scene, before = 0): Promise<Record<string, unknown>> =>
  JSON.parse((await waitForDeliveries(scene, before + 1))[before]?.body ?? "") as Record<string, unknown>;

describe("echo", () => {
  test("is the flow where none is named, and says a text again", async () => {
    const scene = await startScene();
    await say(scene.acme, "Olá {{name}}", 42);
    expect(await replyOf(scene)).toEqual(outbound("Olá {{name}}", 42));
  });

  test("says which button was pressed", async () => {
    const scene = await startScene();
    await press(scene.acme, "Sim", "yes");
    expect(await replyOf(scene)).toMatchObject({ text: "You pressed Sim" });
  });

  test.each(MEDIA_KINDS)("gives media of the same kind back: %s", async (kind) => {
    const scene = await startScene();
    const message = operations[`send ${kind}`];
    await sendTo(scene.acme, message);
    expect(await replyOf(scene)).toMatchObject({ type: kind, url: message.attachments[0]?.data_url });
  });
});

describe("menu", () => {
  test("shows all seven kinds, by the buttons of its template, with media from the emulator itself", async () => {
    const scene = await startScene({ flow: "menu" });
    await say(scene.acme, "anything");
    const menu = (await replyOf(scene)) as unknown as OutboundButtonTemplate;
    const { buttons } = menu.content_attributes;
    for (const { title, payload } of buttons) await press(scene.acme, title, payload);
    const bodies = (await waitForDeliveries(scene, 1 + buttons.length)).map(({ body }) => body);
    const kinds = bodies.map((body) => parseOutbound(body).kind);
    const all = ["button_template", "text", "generic_template", ...MEDIA_KINDS];
    expect(kinds.toSorted()).toEqual(all.toSorted());
    const urls = bodies.flatMap((body) => (JSON.parse(body) as { url?: string }).url ?? []);
    expect(urls).toEqual([...samples.keys()].map((path) => scene.emulator.url + path));
  });

  test("answers a button of a card", async () => {
    const scene = await startScene({ flow: "menu" });
    await press(scene.acme, "Choose 2", "choose-2");
    expect(await replyOf(scene)).toMatchObject({ text: "You chose card 2." });
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
    expect(scene.texts().filter((text) => !text.includes("elsewhere"))).toEqual(["0: first", "1: second"]);
  });

  test.each<[string, unknown, RegExp]>([
    [
      "throws",
      () => {
        throw new Error("out of words");
      },
      /^out of words$/,
    ],
    ["rejects", () => Promise.reject(new Error("out of words")), /^out of words$/],
    ["gives no list", () => "hello", /not valid/],
    ["gives no reply", () => [{ type: "text" }], /not valid[^]*text/],
    ["gives an unknown field", () => [{ type: "text", text: "", delay: 1 }], /delay/],
  ])("that %s replies nothing, and is reported", async (_does, flow, reason) => {
    const scene = await startScene({ flow: flow as Flow });
    const events: EmulatorEvent[] = [];
    scene.emulator.subscribe((event) => events.push(event));
    await say(scene.acme, "hello");
    const failure: unknown = expect.objectContaining({
      workspace: "acme",
      reason: expect.stringMatching(reason),
    });
    await expect.poll(() => events).toContainEqual({ type: "flow-failed", failure });
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
    const { emulator, acme } = await startScene({ flow });
    await say(acme, "hello");
    await emulator.close();
    release();
    await done;
    expect(acme.conversations[0]?.messages).toMatchObject([{ unanswered: true }]);
  });
});
