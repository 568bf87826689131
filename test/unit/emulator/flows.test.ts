import { describe, expect, test } from "vitest";
import { startEmulator, type Scenario, type ScenarioCondition } from "../../../provider/emulator/index.js";
import type { Flow } from "../../../provider/emulator/flows/flow.js";
import { sampleUrls } from "../../../provider/emulator/flows/samples.js";
import { flowOfScenario } from "../../../provider/emulator/flows/scenario.js";
import {
  MEDIA_KINDS,
  parseOutbound,
  type InboundMessage,
  type OutboundButtonTemplate,
} from "../../../schema/index.js";
import {
  inbound,
  operations,
  outbound,
  press,
  refused,
  say,
  sendTo,
  startScene,
  waitForDeliveries,
  type Scene,
} from "./harness.js";

/** The body of the first delivery of a scene. */
const replyOf = async (scene: Scene): Promise<unknown> =>
  JSON.parse((await waitForDeliveries(scene, 1))[0]?.body ?? "");

const pressed = (title: string, payload: string): InboundMessage => ({
  ...inbound(title),
  event: "message_postback",
  submitted_values: [{ title, payload }],
});

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

test("menu shows all seven kinds by the buttons of its template, with media of the emulator itself", async () => {
  const scene = await startScene({ flow: "menu" });
  await say(scene.acme, "anything");
  const { buttons } = ((await replyOf(scene)) as OutboundButtonTemplate).content_attributes;
  for (const { title, payload } of buttons) await press(scene.acme, title, payload);
  const bodies = (await waitForDeliveries(scene, 1 + buttons.length)).map(({ body }) => body);
  const kinds = bodies.map((body) => parseOutbound(body).kind);
  const all = ["button_template", "text", "generic_template", ...MEDIA_KINDS];
  expect(kinds.toSorted()).toEqual(all.toSorted());
  const urls = bodies.flatMap((body) => (JSON.parse(body) as { url?: string }).url ?? []);
  expect(urls).toEqual(Object.values(sampleUrls(scene.emulator.url)));
});

test("a function receives one message of a conversation after the other, however long it takes", async () => {
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

const image = operations["send image"] as InboundMessage;

test.each<[ScenarioCondition, InboundMessage, boolean]>([
  [{ text: "Olá" }, inbound(" OLÁ "), true],
  [{ text: "Olá" }, inbound("Olá você"), false],
  [{ text: { matches: "^(oi|olá)\\b" } }, inbound("Oi, tudo bem?"), true],
  [{ text: { matches: "^(oi|olá)\\b" } }, inbound("Então, oi"), false],
  [{ text: { matches: "^\\p{L}+$" } }, inbound("ação"), true],
  [{ text: "Sim" }, pressed("Sim", "yes"), true],
  [{ text: "Sim", kind: "text" }, pressed("Sim", "yes"), false],
  [{ payload: "yes" }, pressed("Sim", "yes"), true],
  [{ payload: "yes" }, pressed("yes", "no"), false],
  [{ payload: "yes" }, inbound("yes"), false],
  [{ media: "image" }, image, true],
  [{ media: "audio" }, image, false],
  [{ kind: "image" }, image, true],
  [{ kind: "button" }, pressed("Sim", "yes"), true],
  [{ kind: "text" }, image, false],
  [{ text: "" }, image, true],
])("the condition %j of a scenario with %j: %s", async (when, message, expected) => {
  const flow = flowOfScenario({ rules: [{ when, reply: [{ type: "text", text: "yes" }] }] });
  const urls = { image: "", audio: "", video: "", file: "" };
  const reply = await flow({ workspace: "acme", message, samples: urls });
  expect(reply).toHaveLength(expected ? 1 : 0);
});

test("a scenario's first matching rule sends all its replies, filled in; else `otherwise`", async () => {
  const buttons = [{ type: "postback", title: "Human", payload: "human" }];
  const attributes = { text: "Choose, {{name}}", buttons };
  const template = { content_type: "button_template", content_attributes: attributes, delayMs: 10 } as const;
  const support: Scenario = {
    rules: [
      {
        when: { payload: "human" },
        reply: [{ type: "text", text: "{{name}} pressed {{text}} ({{payload}})" }],
      },
      {
        when: { text: { matches: "help" } },
        reply: [
          { type: "text", text: "One moment, {{name}}." },
          { type: "text", text: "Choose", ...template },
          { type: "image", url: "https://cdn.example/help.png" },
        ],
      },
      { when: { text: { matches: "help" } }, reply: [{ type: "text", text: "never" }] },
    ],
    otherwise: [{ type: "text", text: "I do not know {{text}}" }],
  };
  const scene = await startScene({ flows: { support }, flow: "support" });
  await say(scene.acme, "help me");
  await waitForDeliveries(scene, 3);
  await press(scene.acme, "Human", "human");
  await say(scene.acme, "{{name}} {{payload}}");
  const deliveries = await waitForDeliveries(scene, 5);
  expect(deliveries.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { text: "One moment, Ana." },
    { content_type: "button_template", content_attributes: { text: "Choose, Ana" } },
    { type: "image", url: "https://cdn.example/help.png" },
    { text: "Ana pressed Human (human)" },
    { text: "I do not know {{name}} {{payload}}" },
  ]);
});

const withRule = (when: object, reply: object[] = []) => ({ rules: [{ when, reply }] });

describe("a wrong scenario is rejected with the field:", () => {
  test.each<[unknown, string]>([
    [
      withRule({ text: { matches: "(" } }),
      "flows.bad: rules[0].when.text.matches: is not a valid regular expression: ",
    ],
    [withRule({}), "rules[0].when: must name"],
    [withRule({ txt: "a" }), "rules[0].when.txt"],
    [withRule({ text: "a" }, [{ type: "fax" }]), "rules[0].reply[0].type"],
    [{ rules: [], otherwise: [{ type: "image", url: "x.png" }] }, "otherwise[0].url: "],
    [{ rules: [], otherwise: [{ type: "text", text: "", delayMs: -1 }] }, "otherwise[0].delayMs"],
    ["echo", "must be a scenario or a function"],
  ])("%j", async (bad, named) => {
    await expect(startEmulator({ flows: { bad: bad as Scenario } })).rejects.toThrow(refused(named));
  });
});
