import {
  cannotOnLambda,
  delivered,
  refused,
  type ContractCase,
  type ContractExpectation,
} from "../contract-case.ts";

const MIB = 1024 * 1024;
const encoder = new TextEncoder();

const notJson = refused(400, "invalid_json");
const tooLarge = refused(413, "body_too_large");
const anyText = (text: string): ContractExpectation => delivered("text", { type: "text", text });

/** Text in which numbers stand for bytes that no text has. */
const bytesOf = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...encoder.encode(part)] : part)));

/** UTF-16 with its byte order mark, of ASCII. */
const utf16Of = (text: string): Uint8Array =>
  Uint8Array.of(
    0xff,
    0xfe,
    ...encoder.encode(text).reduce<number[]>((bytes, byte) => [...bytes, byte, 0], []),
  );

/** A text message of exactly so many bytes. */
function textOfBytes(length: number): { body: string; expected: ContractExpectation } {
  const empty = '{"type":"text","text":""}';
  const text = "x".repeat(length - empty.length);
  return { body: empty.replace('""', `"${text}"`), expected: anyText(text) };
}

const signed = (name: string, body: string | Uint8Array, expected: ContractExpectation): ContractCase => ({
  name,
  request: { body, signed: {} },
  expected,
});

const whole = "the event holds the whole body";

export const bodyCases: ContractCase[] = [
  signed("UTF-8 beyond the basic plane", '{"type":"text","text":"olá, 世界 🎉"}', anyText("olá, 世界 🎉")),
  signed(
    "escapes as PHP writes them",
    '{"type":"text","text":"caf\\u00e9 \\ud83c\\udf89 <\\/b>"}',
    anyText("café 🎉 </b>"),
  ),
  signed("an escaped lone surrogate", '{"type":"text","text":"a\\ud800b"}', anyText("a\ud800b")),
  signed(
    "escaped surrogates in the wrong order",
    '{"type":"text","text":"\\udf89\\ud83c"}',
    anyText("\udf89\ud83c"),
  ),
  signed(
    "a lone surrogate in the bytes, read as replacement characters",
    bytesOf('{"type":"text","text":"a', [0xed, 0xa0, 0x80], 'b"}'),
    anyText("a\ufffd\ufffd\ufffdb"),
  ),
  signed(
    "bytes that are not UTF-8, read as replacement characters",
    bytesOf('{"type":"text","text":"', [0xff, 0xfe, 0x80], '"}'),
    anyText("\ufffd\ufffd\ufffd"),
  ),
  signed("an escaped NUL", '{"type":"text","text":"a\\u0000b"}', anyText("a\0b")),
  signed("line separators", '{"type":"text","text":"a\u2028b\u2029"}', anyText("a\u2028b\u2029")),
  signed("a byte order mark", '\ufeff{"type":"text","text":"x"}', anyText("x")),
  signed("white space around and within", ' \r\n{\t"type" : "text",\n"text":"x" }\r\n', anyText("x")),
  signed(
    "a name that comes twice: the last counts",
    '{"type":"file","type":"text","text":"x"}',
    anyText("x"),
  ),
  signed("a plain zero", "0", delivered("unknown", 0)),
  signed("an empty body is no JSON", "", notJson),
  signed("white space is no JSON", " \n", notJson),
  signed("a form is no JSON", "type=text&text=x", notJson),
  signed("an object that is cut off is no JSON", '{"type":"text","text":"x"', notJson),
  signed("two objects are no JSON", '{"type":"text"}{"type":"text"}', notJson),
  signed("a comma too many is no JSON", '{"type":"text",}', notJson),
  signed("single quotes are no JSON", "{'type':'text'}", notJson),
  signed("NaN is no JSON", '{"type":"text","conv_id":NaN}', notJson),
  signed("a raw line feed in a text is no JSON", '{"type":"text","text":"a\nb"}', notJson),
  signed("a raw NUL is no JSON", '{"type":"text"}\0', notJson),
  signed("UTF-16 is no JSON", utf16Of('{"a":1}'), notJson),
  {
    name: "an empty body without a signature is refused",
    request: {},
    expected: refused(401, "invalid_signature", /missing/),
  },
  {
    name: "what is no JSON is not looked at without a signature",
    request: { body: "{ not JSON" },
    expected: refused(401, "invalid_signature", /missing/),
  },
  signed("1 MiB to the byte", textOfBytes(MIB).body, textOfBytes(MIB).expected),
  signed("one byte more than 1 MiB is too large", textOfBytes(MIB + 1).body, tooLarge),
  {
    name: "a body as large as a limit of the program's own",
    request: { body: textOfBytes(1000).body, signed: {} },
    options: { bodyLimitBytes: 1000 },
    expected: textOfBytes(1000).expected,
  },
  {
    name: "one byte more than a limit of the program's own",
    request: { body: textOfBytes(1001).body, signed: {} },
    options: { bodyLimitBytes: 1000 },
    expected: tooLarge,
  },
  {
    name: "the limit counts bytes and not characters",
    request: { body: `{"type":"text","text":"${"é".repeat(500)}"}`, signed: {} },
    options: { bodyLimitBytes: 1000 },
    expected: tooLarge,
  },
  {
    name: "a body that is too large is refused before its signature is looked at",
    request: { body: textOfBytes(1001).body },
    options: { bodyLimitBytes: 1000 },
    expected: tooLarge,
  },
  {
    name: "a body in chunks",
    request: { body: textOfBytes(5000).body, signed: {}, transfer: { chunkBytes: 512 } },
    expected: textOfBytes(5000).expected,
    cannot: cannotOnLambda(whole),
  },
  {
    name: "a body in chunks of one byte, which part its characters",
    request: { body: '{"type":"text","text":"olá 🎉"}', signed: {}, transfer: { chunkBytes: 1 } },
    expected: anyText("olá 🎉"),
    cannot: cannotOnLambda(whole),
  },
  {
    name: "1 MiB in chunks",
    request: { body: textOfBytes(MIB).body, signed: {}, transfer: { chunkBytes: 65_536 } },
    expected: textOfBytes(MIB).expected,
    cannot: cannotOnLambda(whole),
  },
  {
    name: "chunks that grow over 1 MiB",
    request: { body: textOfBytes(MIB + 1).body, signed: {}, transfer: { chunkBytes: 65_536 } },
    expected: tooLarge,
    cannot: cannotOnLambda(whole),
  },
  {
    name: "a body that breaks off is incomplete, and is not delivered",
    request: { body: '{"type":"text","text":"x"}', signed: {}, transfer: "broken off" },
    expected: refused(400, "body_incomplete"),
    cannot: cannotOnLambda("no event is made of a request whose body breaks off"),
  },
];
