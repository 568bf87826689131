import { describe, expect, it } from "vitest";
import {
  OutboundFormatError,
  outboundKindOf,
  outboundMessage,
  parseOutbound,
} from "../../../schema/index.js";
import { parseSentOutbound } from "../../../schema/parse-outbound.js";
import samples from "../../../schema/samples.json" with { type: "json" };
import { missing, putAt } from "./values.js";

const common = { sender_id: "u-1", conv_id: 42, message_type: "outgoing", private: false };
const text = { ...common, type: "text", text: "hello" };

/** Checks that a body is rejected with an issue at each path, and that the message contains no secret. */
function expectRefusal(parse: () => unknown, ...paths: string[]): void {
  expect(parse).toThrow(OutboundFormatError);
  const issues = paths.map((path) => expect.objectContaining({ path }) as unknown);
  const message: unknown = expect.not.stringContaining("my-secret");
  expect(parse).toThrow(expect.objectContaining({ issues, message }));
}

describe("parseOutbound", () => {
  it.each([
    [samples.OutboundText, "text"],
    [samples.OutboundImage, "image"],
    [samples.OutboundAudio, "audio"],
    [samples.OutboundVideo, "video"],
    [samples.OutboundFile, "file"],
    [samples.OutboundButtonTemplate, "button_template"],
    [samples.OutboundGenericTemplate, "generic_template"],
    // content_type matters only if the type is text.
    [{ ...common, type: "image", url: "https://cdn.example/a.png", content_type: "image" }, "image"],
  ])("parses %j as the kind %s with its fields", (raw, kind) => {
    const { content_type: _, ...image } = raw as Record<string, unknown>;
    const message = kind === "image" ? image : raw;
    expect(parseOutbound(JSON.stringify(raw))).toEqual({ kind, message, raw });
    expect(outboundKindOf(raw)).toBe(kind);
  });

  it.each([{ type: "sticker" }, { type: "" }, { content_type: "list_template" }])(
    "returns %o as unknown, with the raw value and all digits of conv_id",
    (change) => {
      const raw = { ...text, ...change, extra: { kept: true } };
      expect(parseOutbound(JSON.stringify(raw))).toEqual({ kind: "unknown", raw });
      const body = JSON.stringify(raw).replace('"conv_id":42', '"conv_id":9007199254740993');
      expect(parseOutbound(body).raw).toMatchObject({ conv_id: 9007199254740993n });
    },
  );

  const notUtf8 = new Uint8Array([...new TextEncoder().encode('{"type":"'), 0xff, 0x22, 0x7d]);
  it.each<string | Uint8Array>(["", "my-secret", '{"type":"text"', notUtf8])("rejects %j as a body", (body) =>
    expectRefusal(() => parseOutbound(body), ""),
  );

  it.each(["{}", '{"type":5}', "null", "[]", '"text"'])(
    "returns JSON that is not a message as unknown: %s",
    (body) => {
      expect(parseOutbound(body)).toEqual({ kind: "unknown", raw: JSON.parse(body) as unknown });
    },
  );
});

it("parseSentOutbound names every wrong field of a known kind, and quotes no value", () => {
  const buttons = [{ type: "postback", title: "my-secret", payload: ["my-secret"] }];
  const wrong = { conv_id: "my-secret", private: "my-secret", content_type: "button_template" };
  const body = { ...text, ...wrong, content_attributes: { text: "a", buttons } };
  const parse = () => parseSentOutbound(JSON.stringify(body));
  expectRefusal(parse, "conv_id", "private", "content_attributes.buttons[0].payload");
  expect(parse).toThrow("content_attributes.buttons[0].payload: ");
});

const attributes = "content_attributes";
const card = `${attributes}.items.0`;
const nothing = [missing, null, "", []];

type Row<More extends unknown[]> = [keyof typeof samples, path: string, values: unknown[], ...More];

const buttonsOf = (name: keyof typeof samples, path: string): Row<[read: unknown]>[] => [
  [name, path, nothing, []],
  ...["type", "title", "payload"].map((field): Row<[string]> => [name, `${path}.0.${field}`, nothing, ""]),
];

/** For a path in a sample: values that the specification does not show, and what they are converted to. */
const WRITTEN: Row<[read: unknown]>[] = [
  ["OutboundText", "sender_id", [42], "42"],
  ["OutboundText", "message_type", nothing, "outgoing"],
  ["OutboundText", "private", nothing, false],
  ["OutboundText", "content_type", [""], null],
  ["OutboundButtonTemplate", "text", nothing, ""],
  ["OutboundButtonTemplate", attributes, [...nothing, {}], { text: "", buttons: [] }],
  ["OutboundButtonTemplate", `${attributes}.text`, nothing, ""],
  ...buttonsOf("OutboundButtonTemplate", `${attributes}.buttons`),
  ["OutboundGenericTemplate", "text", nothing, ""],
  ["OutboundGenericTemplate", attributes, [...nothing, {}], { ratio: "", items: [] }],
  ["OutboundGenericTemplate", `${attributes}.ratio`, nothing, ""],
  ["OutboundGenericTemplate", `${attributes}.items`, nothing, []],
  ["OutboundGenericTemplate", `${card}.title`, nothing, ""],
  ["OutboundGenericTemplate", `${card}.subtitle`, nothing, ""],
  ["OutboundGenericTemplate", `${card}.image_url`, nothing, ""],
  ["OutboundGenericTemplate", `${card}.item_url`, nothing, null],
  ["OutboundGenericTemplate", `${card}.default_action`, nothing, null],
  ...buttonsOf("OutboundGenericTemplate", `${card}.buttons`),
];

/** For a path in a sample: values that are not converted. */
const OTHER: Row<[]>[] = [
  ["OutboundText", "text", [missing, null, [], 42, {}]],
  ["OutboundText", "sender_id", [missing, null, [], true]],
  ["OutboundText", "private", [0, "false"]],
  ["OutboundText", "message_type", ["incoming"]],
  ["OutboundImage", "url", [...nothing, "//cdn.example/a.png", "data:,A"]],
  ["OutboundButtonTemplate", attributes, ["text", [1]]],
  ["OutboundButtonTemplate", `${attributes}.buttons`, [{ 1: samples.OutboundButtonTemplate }, [null]]],
  ["OutboundButtonTemplate", `${attributes}.buttons.0.payload`, [7]],
  ["OutboundGenericTemplate", `${attributes}.items`, [["card"]]],
  ["OutboundGenericTemplate", `${card}.item_url`, ["javascript:alert(1)"]],
];

describe("a delivery that differs from the specification", () => {
  it.each(WRITTEN)("is converted if its meaning is clear: %s %s", (name, path, values, read) => {
    const right = parseOutbound(JSON.stringify(samples[name]));
    for (const value of values) {
      const raw = putAt(samples[name], path, value);
      const parsed = parseOutbound(JSON.stringify(raw));
      expect(parsed).toEqual({ ...right, message: putAt(samples[name], path, read), raw });
      expect("message" in parsed && outboundMessage.safeParse(parsed.message).success).toBe(true);
    }
  });

  it.each(OTHER)("is unknown if its meaning is not clear: %s %s", (name, path, values) => {
    for (const value of values) {
      const raw = putAt(samples[name], path, value);
      expect(parseOutbound(JSON.stringify(raw))).toEqual({
        kind: "unknown",
        raw: JSON.parse(JSON.stringify(raw)),
      });
    }
  });

  it("keeps all digits of a sender_id that is a number", () => {
    const digits = "12345678901234567890";
    const body = JSON.stringify(samples.OutboundText).replace('"u-1"', digits);
    expect(parseOutbound(body)).toMatchObject({ message: { sender_id: digits } });
  });
});

const bodyWith = (id: string): string => JSON.stringify(text).replace('"conv_id":42', `"conv_id":${id}`);

describe("the conversation id of a delivery", () => {
  it.each<[string, number | bigint]>([
    ["0", 0],
    ["-7", -7],
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740993", -9007199254740993n],
    ["123456789012345678901234567890", 123456789012345678901234567890n],
    ['"42"', 42],
    ['"9007199254740993"', 9007199254740993n],
  ])("%s is read as %s, with all its digits", (id, read) => {
    expect(parseOutbound(bodyWith(id))).toMatchObject({ message: { conv_id: read } });
  });

  it.each(["9007199254740993.0", "1e20", "1.5", '"4 2"', "null"])("%s makes the delivery unknown", (id) => {
    expect(parseOutbound(bodyWith(id)).kind).toBe("unknown");
  });
});
