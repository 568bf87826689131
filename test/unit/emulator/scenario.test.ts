import { describe, expect, test } from "vitest";
import type { Scenario, ScenarioCondition } from "../../../provider/emulator/index.js";
import { flowOfScenario, scenario } from "../../../provider/emulator/flows/scenario.js";
import { startEmulator } from "../../../provider/emulator/index.js";
import { parseYaml } from "../../../provider/lib/yaml-file.js";
import type { InboundMessage } from "../../../schema/index.js";
import { inbound, operations, press, say, startScene, waitForDeliveries } from "./harness.js";

const text = (content: string): InboundMessage => inbound(content);
const image = operations["send image"] as InboundMessage;
const pressed = (title: string, payload: string): InboundMessage =>
  ({
    ...operations["send button payload"],
    content: title,
    submitted_values: [{ title, payload }],
  }) as InboundMessage;

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
    const flow = flowOfScenario({ rules: [{ when, reply: [{ type: "text", text: "yes" }] }] });
    const samples = { image: "", audio: "", video: "", file: "" };
    const reply = await flow({ workspace: "acme", message, messagesBefore: 0, samples });
    expect(reply).toHaveLength(expected ? 1 : 0);
  });
});

test("the first rule that matches replies with all its replies, filled; else `otherwise`", async () => {
  const buttons = [{ type: "postback", title: "Human", payload: "human" } as const];
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
            content_attributes: { text: "Choose, {{name}}", buttons },
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
  const deliveries = await waitForDeliveries(scene, 5);
  expect(deliveries.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { text: "One moment, Ana." },
    { content_type: "button_template", content_attributes: { text: "Choose, Ana" } },
    { type: "image", url: "https://cdn.example/help.png" },
    { text: "Ana pressed Human (human)" },
    { text: "I do not know {{name}} {{payload}}" },
  ]);
});

describe("a scenario that is wrong is refused with the field:", () => {
  const reply = [{ type: "text", text: "" }];
  const withRule = (when: object, replies: object[] = reply) => ({ rules: [{ when, reply: replies }] });

  test.each<[unknown, RegExp]>([
    [
      withRule({ text: { matches: "(" } }),
      /flows\.bad: rules\[0\]\.when\.text\.matches: is no regular expression: /,
    ],
    [withRule({}), /rules\[0\]\.when: must name/],
    [withRule({ txt: "a" }), /rules\[0\]\.when.*txt/],
    [withRule({ kind: "fax" }), /rules\[0\]\.when\.kind/],
    [withRule({ text: "a" }, [{ type: "fax" }]), /rules\[0\]\.reply\[0\]\.type/],
    [{ rules: [], otherwise: [{ type: "text" }] }, /otherwise\[0\]\.text/],
    [{ rules: [], otherwise: [{ type: "image", url: "x.png" }] }, /otherwise\[0\]\.url: .*http/],
    [{ rules: [], otherwise: [{ type: "text", text: "", delayMs: -1 }] }, /otherwise\[0\]\.delayMs/],
    ["echo", /flows.*must be a scenario or a function/],
  ])("%j", async (bad, named) => {
    const message: unknown = expect.stringMatching(named);
    const starting = startEmulator({ flows: { bad: bad as Scenario } });
    await expect(starting).rejects.toMatchObject({ code: "invalid_config", message });
  });

  test("in a file, its line too", () => {
    const file = 'rules:\n  - when: { text: { matches: "[" } }\n    reply: []\n';
    expect(() => parseYaml(file, scenario, "flow.yaml")).toThrow(
      /^flow\.yaml:2:\d+: rules\[0\]\.when\.text\.matches: is no regular expression/,
    );
  });
});
