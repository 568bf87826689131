import { expect, test } from "vitest";
import type { Flow } from "../../../provider/emulator/index.js";
import { MEDIA_KINDS } from "../../../schema/index.js";
import {
  inbound,
  operations,
  outbound,
  pressed,
  say,
  sendTo,
  startAcme,
  startScene,
  waitForDeliveries,
  type Scene,
} from "./harness.js";

/** Returns the body of a scene's first delivery. */
const replyOf = async (scene: Scene): Promise<unknown> =>
  JSON.parse((await waitForDeliveries(scene, 1))[0]?.body ?? "");

test.each<[string, object, object]>([
  ["a text", inbound("Olá {{name}}", 42), outbound("Olá {{name}}", 42)],
  ["which button was pressed", pressed("Sim", "yes"), { text: "You pressed Sim" }],
  ...MEDIA_KINDS.map((type): [string, object, object] => {
    const message = operations[`send ${type}`];
    return [`media of the kind ${type}`, message, { type, url: message.attachments[0]?.data_url }];
  }),
])("echo, the default flow, repeats %s", async (_what, message, reply) => {
  const scene = await startScene();
  await sendTo(scene.acme, message);
  expect(await replyOf(scene)).toMatchObject(reply);
});

test("a flow function receives a conversation's next message after it has replied to the previous one", async () => {
  const asked: string[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const flow: Flow = async ({ message }) => {
    asked.push(message.content);
    if (asked.length === 1) await released;
    return [{ type: "text", text: message.content }];
  };
  const scene = await startScene({ flow });
  await say(scene.acme, "first");
  await say(scene.acme, "second");
  await say(scene.acme, "elsewhere", 2);
  await expect.poll(() => asked).toEqual(["first", "elsewhere"]);
  release();
  await waitForDeliveries(scene, 3);
  expect(scene.texts().filter((text) => !text.includes("elsewhere"))).toEqual(["first", "second"]);
});

test.each<[string, Flow, RegExp]>([
  ["throws", () => Promise.reject(new Error("out of stock")), /^out of stock$/],
  [
    "returns a reply of an unknown kind",
    () => [{ type: "fax" } as never],
    /must be text, image, audio, video or file/,
  ],
])("a flow that %s is reported, and the contact's message gets no reply", async (_what, flow, reason) => {
  const { emulator, acme } = await startAcme({ flow });
  const { promise: failed, resolve } = Promise.withResolvers<string>();
  emulator.subscribe((event) => event.type === "flow-failed" && resolve(event.reason));
  await say(acme, "hello");
  expect(await failed).toMatch(reason);
  expect(acme.conversations).toMatchObject([{ messages: [{ from: "contact" }] }]);
});
