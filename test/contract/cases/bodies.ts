import {
  caseOf,
  casesOf,
  delivered,
  rejected,
  type ContractCase,
  type ContractExpectation,
  type ContractRequest,
} from "../contract-case.ts";

const MIB = 1024 * 1024;
const encoder = new TextEncoder();

const tooLarge = rejected(413, "body_too_large");
const anyText = (text: string): ContractExpectation => delivered("text", { type: "text", text });

/** Joins texts, which are encoded as UTF-8, and lists of bytes, which need not be UTF-8. */
const bytesOf = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...encoder.encode(part)] : part)));

/** A text message of exactly this many bytes. */
function textOfBytes(length: number): { body: string; expected: ContractExpectation } {
  const empty = '{"type":"text","text":""}';
  const text = "x".repeat(length - empty.length);
  return { body: empty.replace('""', `"${text}"`), expected: anyText(text) };
}

const signed = (body: string | Uint8Array): ContractRequest => ({ body, signed: {} });
const inChunks = (body: string, chunkBytes: number): ContractRequest => ({
  ...signed(body),
  transfer: { chunkBytes },
});
/** Not tested on Lambda, because the event of a Lambda function always contains the whole body. */
const inPieces: Pick<ContractCase, "cannot"> = { cannot: ["Lambda"] };
const limited = { options: { bodyLimitBytes: 1000 } };

export const bodyCases: ContractCase[] = [
  caseOf(
    "bytes that are not UTF-8 are read as replacement characters",
    anyText("\ufffd\ufffd\ufffd"),
    signed(bytesOf('{"type":"text","text":"', [0xff, 0xfe, 0x80], '"}')),
  ),
  caseOf("a byte order mark", anyText("x"), signed('\ufeff{"type":"text","text":"x"}')),
  ...casesOf(rejected(400, "invalid_json"), {
    "an empty body is not JSON": signed(""),
    "a truncated object is not JSON": signed('{"type":"text","text":"x"'),
  }),
  ...casesOf(rejected(401, "invalid_signature", /missing/), {
    "an empty body without a signature is rejected": {},
    "a body that is not JSON is not parsed without a signature": { body: "{ not JSON" },
  }),
  caseOf("a body one byte larger than 1 MiB is too large", tooLarge, signed(textOfBytes(MIB + 1).body)),
  caseOf(
    "a body exactly as large as the program's own limit is accepted",
    textOfBytes(1000).expected,
    signed(textOfBytes(1000).body),
    limited,
  ),
  ...casesOf(
    tooLarge,
    {
      "the limit is in bytes, not characters": signed(`{"type":"text","text":"${"é".repeat(500)}"}`),
      "a body that is too large is rejected before its signature is checked": {
        body: textOfBytes(1001).body,
      },
    },
    limited,
  ),
  caseOf(
    "a body is not read if its signature is malformed",
    rejected(401, "invalid_signature"),
    { body: textOfBytes(1001).body, signed: { as: () => ["sha256=0"] } },
    limited,
  ),
  caseOf(
    "a body in chunks of one byte",
    anyText("olá 🎉"),
    inChunks('{"type":"text","text":"olá 🎉"}', 1),
    inPieces,
  ),
  caseOf("chunks that exceed 1 MiB", tooLarge, inChunks(textOfBytes(MIB + 1).body, 65_536), inPieces),
  caseOf(
    "a body that breaks off is reported as incomplete, and is not delivered",
    rejected(400, "body_incomplete"),
    {
      ...signed('{"type":"text","text":"x"}'),
      transfer: "broken off",
    },
    inPieces,
  ),
];
