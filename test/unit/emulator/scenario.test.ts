import { describe, expect, test } from "vitest";
import { startEmulator } from "../../../provider/emulator/index.js";
import type { FlowReply } from "../../../provider/emulator/flows/flow.js";
import {
  flowOfScenario,
  scenario,
  type Scenario,
  type ScenarioCondition,
} from "../../../provider/emulator/flows/scenario.js";
import { parseYaml } from "../../../provider/lib/yaml-file.js";
import type { InboundMessage } from "../../../schema/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import { press, say, startScene, waitForDeliveries } from "./delivery-harness.js";

const text = (content: string): InboundMessage =>
  ({ ...samples.InboundTextMessage, content }) as InboundMessage;

const pressed = (title: string, payload: string): InboundMessage =>
  ({
    ...samples.InboundButtonMessage,
    content: title,
    submitted_values: [{ title, payload }],
  }) as InboundMessage;

const image = samples.InboundImageMessage as InboundMessage;

/** Whether a rule with this condition replies to a message. */
async function matches(when: ScenarioCondition, message: InboundMessage): Promise<boolean> {
  const rules = [{ when, reply: [{ type: "text", text: "yes" } satisfies FlowReply] }];
  const reply = await flowOfScenario({ rules })({
    workspace: "acme",
    message,
    messagesBefore: 0,
    samples: { image: "", audio: "", video: "", file: "" },
  });
  return reply.length > 0;
}

describe("a condition", () => {
  test.each<[ScenarioCondition, InboundMessage, boolean]>([
    [{ text: "Olá" }, text(" OLÁ "), true],
    [{ text: "Olá" }, text("Olá você"), false],
    [{ text: { matches: "^(oi|olá)\\b" } }, text("Oi, tudo bem?"), true],
    [{ text: { matches: "^(oi|olá)\\b" } }, text("Então, oi"), false],
    [{ text: { matches: "^\\p{L}+$" } }, text("ação"), true],
    [{ text: "Sim" }, pressed("Sim", "yes"), true],
    [{ text: "Sim", kind: "text" }, pressed("Sim", "yes"), false],
    [{ payload: "yes" }, pressed("Sim", "yes"), true],
    [{ payload: "yes" }, pressed("yes", "no"), false],
    [{ payload: "yes" }, text("yes"), false],
    [{ media: "image" }, image, true],
    [{ media: "audio" }, image, false],
    [{ kind: "image" }, image, true],
    [{ kind: "button" }, pressed("Sim", "yes"), true],
    [{ kind: "text" }, image, false],
    [{ text: "" }, image, true],
  ])("%j with %j: %s", async (when, message, expected) => {
    expect(await matches(when, message)).toBe(expected);
  });
});

test("the first rule that matches replies with all its replies, filled; else `otherwise`", async () => {
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
          {
            type: "text",
            text: "Choose",
            content_type: "button_template",
            content_attributes: {
              text: "Choose, {{name}}",
              buttons: [{ type: "postback", title: "Human", payload: "human" }],
            },
            delayMs: 10,
          },
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
  await waitForDeliveries(scene, 5);
  const bodies = scene.deliveries().map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(bodies).toMatchObject([
    { text: "One moment, Ana." },
    { content_type: "button_template", content_attributes: { text: "Choose, Ana" } },
    { type: "image", url: "https://cdn.example/help.png" },
    { text: "Ana pressed Human (human)" },
    { text: "I do not know {{name}} {{payload}}" },
  ]);
});

describe("a scenario that is wrong is refused with the field:", () => {
  const reply = [{ type: "text", text: "" }];
  test.each<[string, unknown, RegExp]>([
    [
      "a bad expression",
      { rules: [{ when: { text: { matches: "(" } }, reply }] },
      /flows\.bad: rules\[0\]\.when\.text\.matches: is no regular expression: /,
    ],
    ["no condition", { rules: [{ when: {}, reply }] }, /rules\[0\]\.when: must name/],
    ["an unknown condition", { rules: [{ when: { txt: "a" }, reply }] }, /rules\[0\]\.when.*txt/],
    ["a kind that is none", { rules: [{ when: { kind: "fax" }, reply }] }, /rules\[0\]\.when\.kind/],
    [
      "a reply of an unknown type",
      { rules: [{ when: { text: "a" }, reply: [{ type: "fax" }] }] },
      /rules\[0\]\.reply\[0\]\.type/,
    ],
    ["a reply without its text", { rules: [], otherwise: [{ type: "text" }] }, /otherwise\[0\]\.text/],
    [
      "a reply with a bad URL",
      { rules: [], otherwise: [{ type: "image", url: "x.png" }] },
      /otherwise\[0\]\.url: .*http/,
    ],
    [
      "a pause that is none",
      { rules: [], otherwise: [{ type: "text", text: "", delayMs: -1 }] },
      /otherwise\[0\]\.delayMs/,
    ],
    ["a text for a scenario", "echo", /flows.*must be a scenario or a function/],
  ])("%s", async (_name, bad, message) => {
    await expect(startEmulator({ flows: { bad: bad as Scenario } })).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(message),
    });
  });

  test("in a file, its line too", () => {
    const file = 'rules:\n  - when: { text: { matches: "[" } }\n    reply: []\n';
    expect(() => parseYaml(file, scenario, "flow.yaml")).toThrow(
      /^flow\.yaml:2:\d+: rules\[0\]\.when\.text\.matches: is no regular expression/,
    );
  });
});
