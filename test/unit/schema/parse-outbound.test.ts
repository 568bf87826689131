import { describe, expect, it } from "vitest";
import { OutboundFormatError, outboundMessage, parseOutbound } from "../../../schema/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import { written, type WrittenName } from "./corpus-received.js";
import { corpus, putAt } from "./corpus.js";

const common = { sender_id: "u-1", conv_id: 42, message_type: "outgoing", private: false };
const text = { ...common, type: "text", text: "hello" };

function catchFormatError(body: string | Uint8Array): OutboundFormatError {
  try {
    parseOutbound(body);
  } catch (error) {
    if (error instanceof OutboundFormatError) return error;
    throw error;
  }
  throw new Error("the body was accepted");
}

describe("parseOutbound", () => {
  it.each([
    ["OutboundText", "text"],
    ["OutboundImage", "image"],
    ["OutboundAudio", "audio"],
    ["OutboundVideo", "video"],
    ["OutboundFile", "file"],
    ["OutboundButtonTemplate", "button_template"],
    ["OutboundGenericTemplate", "generic_template"],
  ])("gives %s the kind %s and its fields", (name, kind) => {
    const valid = corpus.find(({ shape }) => shape.name === name)?.shape.valid;
    expect(valid).toBeDefined();
    expect(parseOutbound(JSON.stringify(valid))).toEqual({ kind, message: valid, raw: valid });
  });

  it("drops fields that are not in the specification", () => {
    const body = JSON.stringify({ ...text, workspace: "acme" });
    expect(parseOutbound(body)).toEqual({ kind: "text", message: text, raw: { ...text, workspace: "acme" } });
  });

  it("reads the bytes of a body as UTF-8", () => {
    const body = new TextEncoder().encode(JSON.stringify({ ...text, text: "olá 👋" }));
    expect(parseOutbound(body)).toMatchObject({ kind: "text", message: { text: "olá 👋" } });
  });

  it.each([{ type: "sticker" }, { type: "" }, { content_type: "list_template" }])(
    "gives the unknown kind of %o with the raw value",
    (change) => {
      const raw = { ...text, ...change, extra: { kept: true } };
      expect(parseOutbound(JSON.stringify(raw))).toEqual({ kind: "unknown", raw });
    },
  );

  it.each([null, ""])("reads the content_type %j as a plain text", (content_type) => {
    expect(parseOutbound(JSON.stringify({ ...text, content_type })).kind).toBe("text");
  });

  it("looks at content_type on a text only", () => {
    const image = { ...common, type: "image", url: "https://cdn.example/a.png", content_type: "image" };
    expect(parseOutbound(JSON.stringify(image)).kind).toBe("image");
  });

  it("names every wrong field of a known kind, and quotes no value", () => {
    const attributes = {
      text: "a",
      buttons: [{ type: "postback", title: "my-secret", payload: ["my-secret"] }],
    };
    const body = {
      ...text,
      conv_id: "my-secret",
      private: "my-secret",
      content_type: "button_template",
      content_attributes: attributes,
    };
    const error = catchFormatError(JSON.stringify(body));
    expect(error.issues.map(({ path }) => path)).toEqual([
      "conv_id",
      "private",
      "content_attributes.buttons[0].payload",
    ]);
    expect(error.message).toContain("content_attributes.buttons[0].payload: ");
    expect(error.message).not.toContain("my-secret");
  });

  it("names a type that is missing or not a string", () => {
    expect(catchFormatError("{}").issues.map(({ path }) => path)).toEqual(["type"]);
    expect(catchFormatError('{"type":5}').issues.map(({ path }) => path)).toEqual(["type"]);
  });

  it.each(["", "my-secret", '{"type":"text"', "null", "[]", '"text"'])("refuses %j as a body", (body) => {
    const error = catchFormatError(body);
    expect(error.issues.map(({ path }) => path)).toEqual([""]);
    expect(error.message).not.toContain("my-secret");
  });

  it("refuses bytes that are not UTF-8", () => {
    const body = new Uint8Array([...new TextEncoder().encode('{"type":"'), 0xff, 0x22, 0x7d]);
    expect(catchFormatError(body).issues.map(({ path }) => path)).toEqual([""]);
  });
});

const WRITTEN = (Object.keys(written) as WrittenName[]).flatMap((name) =>
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

function readConversationId(digits: string): number | bigint {
  const parsed = parseOutbound(JSON.stringify(text).replace('"conv_id":42', `"conv_id":${digits}`));
  if (parsed.kind !== "text") throw new Error(`kind ${parsed.kind}`);
  return parsed.message.conv_id;
}

describe("the conversation id of a delivery", () => {
  it.each(["0", "-7", "9007199254740991", "-9007199254740991"])("is a number: %s", (digits) => {
    expect(readConversationId(digits)).toBe(Number(digits));
  });

  it.each(["9007199254740992", "9007199254740993", "-9007199254740993", "123456789012345678901234567890"])(
    "keeps its digits as a bigint: %s",
    (digits) => {
      expect(readConversationId(digits)).toBe(BigInt(digits));
      expect(String(readConversationId(digits))).toBe(digits);
    },
  );

  it("keeps its digits in the raw value of an unknown kind", () => {
    const parsed = parseOutbound('{"type":"sticker","conv_id":9007199254740993}');
    expect(parsed).toEqual({ kind: "unknown", raw: { type: "sticker", conv_id: 9007199254740993n } });
  });

  it.each(["9007199254740993.0", "1e20"])("is refused where digits would be lost: %s", (digits) => {
    expect(() => readConversationId(digits)).toThrow(/conv_id: its digits are lost/);
  });

  it.each(["42", "-7", "9007199254740993"])("may come as text: %s", (digits) => {
    expect(String(readConversationId(`"${digits}"`))).toBe(digits);
    expect(typeof readConversationId('"42"')).toBe("number");
  });

  it.each(["1.5", '"4 2"', '""', "null", "true"])("is refused when it is no integer: %s", (value) => {
    expect(() => readConversationId(value)).toThrow(/conv_id: expected an integer/);
  });
});
