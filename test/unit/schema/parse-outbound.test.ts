import { describe, expect, it } from "vitest";
import {
  OutboundFormatError,
  outboundKindOf,
  outboundMessage,
  parseOutbound,
} from "../../../schema/index.js";
import { samples, type SampleName } from "../../../tools/schema/samples.ts";
import { missing, putAt } from "./values.js";

const common = { sender_id: "u-1", conv_id: 42, message_type: "outgoing", private: false };
const text = { ...common, type: "text", text: "hello" };

/** The failure of a body, and the paths of its issues. */
function refusalOf(body: string | Uint8Array): { paths: string[]; message: string } {
  try {
    parseOutbound(body);
  } catch (error) {
    if (!(error instanceof OutboundFormatError)) throw error;
    return { paths: error.issues.map(({ path }) => path), message: error.message };
  }
  throw new Error("the body was accepted");
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
    // content_type counts on a text only.
    [{ ...common, type: "image", url: "https://cdn.example/a.png", content_type: "image" }, "image"],
  ])("gives %j the kind %s and its fields", (raw, kind) => {
    const { content_type: _, ...image } = raw as Record<string, unknown>;
    const message = kind === "image" ? image : raw;
    expect(parseOutbound(JSON.stringify(raw))).toEqual({ kind, message, raw });
    expect(outboundKindOf(raw)).toBe(kind);
  });

  it.each([{ type: "sticker" }, { type: "" }, { content_type: "list_template" }])(
    "gives the unknown kind of %o with the raw value, and all digits of its conversation",
    (change) => {
      const raw = { ...text, ...change, extra: { kept: true } };
      expect(parseOutbound(JSON.stringify(raw))).toEqual({ kind: "unknown", raw });
      const body = JSON.stringify(raw).replace('"conv_id":42', '"conv_id":9007199254740993');
      expect(parseOutbound(body).raw).toMatchObject({ conv_id: 9007199254740993n });
    },
  );

  it("names every wrong field of a known kind, and quotes no value", () => {
    const buttons = [{ type: "postback", title: "my-secret", payload: ["my-secret"] }];
    const wrong = { conv_id: "my-secret", private: "my-secret", content_type: "button_template" };
    const body = { ...text, ...wrong, content_attributes: { text: "a", buttons } };
    const { paths, message } = refusalOf(JSON.stringify(body));
    expect(paths).toEqual(["conv_id", "private", "content_attributes.buttons[0].payload"]);
    expect(message).toContain("content_attributes.buttons[0].payload: ");
    expect(message).not.toContain("my-secret");
  });

  const notUtf8 = new Uint8Array([...new TextEncoder().encode('{"type":"'), 0xff, 0x22, 0x7d]);
  it.each<[string | Uint8Array, string]>([
    ["{}", "type"],
    ['{"type":5}', "type"],
    ...["", "my-secret", '{"type":"text"', "null", "[]", '"text"', notUtf8].map(
      (body): [string | Uint8Array, string] => [body, ""],
    ),
  ])("refuses %j as a body, naming %j", (body, path) => {
    const { paths, message } = refusalOf(body);
    expect(paths).toEqual([path]);
    expect(message).not.toContain("my-secret");
  });
});

/** Values at one path that are not in the form of the specification, and what all of them are read as. */
type Written = readonly [path: string, values: readonly unknown[], read: unknown];

const attributes = "content_attributes";
const card = `${attributes}.items.0`;

const writtenInDelivery: Written[] = [
  ["sender_id", [42], "42"],
  ["conv_id", ["42"], 42],
  ["conv_id", ["-9007199254740993"], -9007199254740993n],
  ["message_type", [missing, null, ""], "outgoing"],
  ["private", [missing, null, "", 0, "0", "false"], false],
  ["private", [1, "1", "true"], true],
];
const emptyText = [missing, null];
const emptyList = [missing, null, "", [], {}];
const writtenButtons = (path: string): Written[] => [
  [path, emptyList, []],
  [
    path,
    [{ 1: { type: "postback", title: 1, payload: 2 } }],
    [{ type: "postback", title: "1", payload: "2" }],
  ],
  [`${path}.0.type`, emptyText, ""],
  [`${path}.0.title`, emptyText, ""],
  [`${path}.0.payload`, emptyText, ""],
];

/** By the name of a sample. */
const written = {
  OutboundText: [...writtenInDelivery, ["text", [42], "42"], ["content_type", [""], null]],
  OutboundImage: [...writtenInDelivery, ["url", ["//cdn.example/a b.png"], "https://cdn.example/a b.png"]],
  OutboundButtonTemplate: [
    ...writtenInDelivery,
    ["text", emptyText, ""],
    [attributes, [...emptyText, "", [], {}], { text: "", buttons: [] }],
    [`${attributes}.text`, emptyText, ""],
    ...writtenButtons(`${attributes}.buttons`),
  ],
  OutboundGenericTemplate: [
    ...writtenInDelivery,
    ["text", emptyText, ""],
    [attributes, [...emptyText, "", [], {}], { ratio: "", items: [] }],
    [`${attributes}.ratio`, emptyText, ""],
    [`${attributes}.items`, emptyList, []],
    [`${card}.title`, emptyText, ""],
    [`${card}.title`, [2026], "2026"],
    [`${card}.image_url`, emptyText, ""],
    [`${card}.image_url`, ["//cdn.example/a"], "https://cdn.example/a"],
    [`${card}.item_url`, [missing, ""], null],
    [`${card}.item_url`, ["//shop.example/a"], "https://shop.example/a"],
    [`${card}.subtitle`, emptyText, ""],
    [`${card}.default_action`, [missing, [], ""], null],
    ...writtenButtons(`${card}.buttons`),
  ],
} satisfies Partial<Record<SampleName, Written[]>>;

const WRITTEN = (Object.keys(written) as (keyof typeof written)[]).flatMap((name) =>
  written[name].map(([path, values, read]) => ({ name, path, values, read })),
);

describe("a delivery that is not in the form of the specification", () => {
  it.each(WRITTEN)("is read where it means the same: $name $path $values", ({ name, path, values, read }) => {
    const right = parseOutbound(JSON.stringify(samples[name]));
    for (const value of values) {
      const raw = putAt(samples[name], path, value);
      const parsed = parseOutbound(JSON.stringify(raw));
      expect(parsed).toEqual({ ...right, message: putAt(samples[name], path, read), raw });
      expect("message" in parsed && outboundMessage.safeParse(parsed.message).success).toBe(true);
    }
  });

  it("keeps the digits of ids that are numbers where texts belong", () => {
    const digits = "12345678901234567890";
    const body = JSON.stringify(samples.OutboundButtonTemplate)
      .replace('"u-1"', digits)
      .replace('"YES"', digits);
    expect(parseOutbound(body)).toMatchObject({
      message: { sender_id: digits, content_attributes: { buttons: [{ payload: digits }] } },
    });
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

  it.each([
    ...["9007199254740993.0", "1e20"].map((id) => [id, /conv_id: its digits are lost/] as const),
    ...["1.5", '"4 2"', "null"].map((id) => [id, /conv_id: expected an integer/] as const),
  ])("%s is refused", (id, message) => {
    expect(() => parseOutbound(bodyWith(id))).toThrow(message);
  });
});
