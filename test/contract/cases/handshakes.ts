import type { Handshake } from "../../../provider/responder/index.js";
import {
  caseOf,
  casesOf,
  challenged,
  FOREIGN_KEY,
  KEY,
  OLD_KEY,
  rejected,
  type ContractCase,
  type ContractRequest,
} from "../contract-case.ts";

const CHALLENGE = "9f86d081884c7d659a2feaa0c55ad015";
const FORM = ["content-type", "application/x-www-form-urlencoded"] as const;
const JSON_TYPE = ["content-type", "application/json"] as const;
const BOUNDARY = "------------------------d74496d66958873e";
const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join("");

type Parameters = Record<string, unknown>;

const parameters = (changes: Parameters = {}): Parameters => ({
  hub_mode: "subscribe",
  hub_verify_token: KEY,
  hub_challenge: CHALLENGE,
  ...changes,
});
const formOf = (changes: Parameters = {}): string =>
  Object.entries(parameters(changes))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
const PAD_TO_8_KIB = 8192 - formOf({ pad: "" }).length;
const jsonOf = (changes: Parameters = {}): string => JSON.stringify(parameters(changes));

const inForm = (changes: Parameters = {}): ContractRequest => ({ body: formOf(changes), headers: [FORM] });
const inJson = (changes: Parameters = {}): ContractRequest => ({
  body: jsonOf(changes),
  headers: [JSON_TYPE],
});
/** A multipart form, as PHP's curl sends it if the parameters are an array. */
const partsOf = (changes: Parameters = {}, head = 'Content-Disposition: form-data; name="NAME"'): string =>
  Object.entries(parameters(changes))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `--${BOUNDARY}\r\n${head.replace("NAME", name)}\r\n\r\n${String(value)}\r\n`)
    .join("")
    .concat(`--${BOUNDARY}--\r\n`);
const inParts = (body: string): ContractRequest => ({
  body,
  headers: [["content-type", `multipart/form-data; boundary=${BOUNDARY}`]],
});

const inQuery = (changes: Parameters = {}): ContractRequest => ({ target: `/hook?${formOf(changes)}` });

const wrongToken = rejected(401, "invalid_token");
const none = rejected(401, "invalid_signature", /neither a handshake nor a signed delivery/);

const echoed = challenged(CHALLENGE);
const inMultipart = challenged(CHALLENGE, { encoding: "multipart" });
const echoedJson = challenged(CHALLENGE, { encoding: "json" });
const echoedQuery = challenged(CHALLENGE, { encoding: "query" });
const FILE_PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="hub_mode"; filename="a.txt"\r\n\r\nx\r\n`;

/** Cases with this challenge, one for each of the four encodings. */
const challengeInAll = (name: string, hub_challenge: string): ContractCase[] =>
  Object.entries({
    form: inForm({ hub_challenge }),
    json: inJson({ hub_challenge }),
    multipart: inParts(partsOf({ hub_challenge })),
    query: inQuery({ hub_challenge }),
  }).flatMap(([encoding, request]) =>
    casesOf(challenged(hub_challenge, { encoding: encoding as Handshake["encoding"] }), {
      [`a challenge ${name}, as ${encoding}`]: request,
    }),
  );

export const handshakeCases: ContractCase[] = [
  ...casesOf(echoed, {
    "a form without a content type": { body: formOf() },
    "a form labelled as JSON": { body: formOf(), headers: [JSON_TYPE] },
    "a form with percent-encoded names": { body: formOf().replaceAll("_", "%5F"), headers: [FORM] },
    "a form of 8 KiB": inForm({ pad: "x".repeat(PAD_TO_8_KIB) }),
    "if both the body and the query contain a handshake, only the body's is read": {
      ...inForm(),
      target: `/hook?${formOf({ hub_challenge: "other" })}`,
    },
    "only the first value of a repeated parameter is read": {
      body: `${formOf()}&hub_challenge=other`,
      headers: [FORM],
    },
    "a handshake with a wrong signature": { ...inForm(), signed: { key: FOREIGN_KEY } },
  }),
  ...casesOf(echoedJson, {
    "JSON with a byte order mark and whitespace": {
      body: `\ufeff \r\n${jsonOf()}\n`,
      headers: [JSON_TYPE],
    },
    "JSON with other parameters": inJson({ hub_topic: { a: 1 }, n: null }),
  }),
  ...casesOf(echoedQuery, {
    "a handshake appended to the URL's own query": { target: `/hook?tenant=7&${formOf()}` },
    "a handshake in the query, even if the body is {}": { ...inQuery(), body: "{}", headers: [JSON_TYPE] },
  }),
  caseOf("a form in chunks", echoed, { ...inForm(), transfer: { chunkBytes: 7 } }, { cannot: ["Lambda"] }),
  ...casesOf(inMultipart, {
    "a multipart form whose parts have a header before Content-Disposition, and unquoted names": inParts(
      partsOf({}, "Content-Type: text/plain; charset=utf-8\r\ncontent-disposition: FORM-DATA;name=NAME"),
    ),
    "a multipart form with an unrelated field, and with a file that is also named hub_mode": inParts(
      FILE_PART + partsOf({ hub_topic: "x\r\n\r\ny" }),
    ),
    "a multipart form without a content type": { body: partsOf() },
    "only the first value of a repeated field in a multipart form is read": inParts(
      partsOf().replace(`--${BOUNDARY}--\r\n`, "") + partsOf({ hub_challenge: "other" }),
    ),
  }),
  ...casesOf(none, {
    "a truncated multipart form": inParts(partsOf().slice(0, -6)),
    "a multipart form in which each boundary is followed by an extra character": inParts(
      partsOf().replaceAll(`${BOUNDARY}\r\nContent`, `${BOUNDARY}x\r\nContent`),
    ),
  }),
  ...challengeInAll("of 1 KiB", "c".repeat(1024)),
  ...challengeInAll("with every printable character", PRINTABLE),
  caseOf("a challenge with a space at each end", challenged(" a b "), inForm({ hub_challenge: " a b " })),
  caseOf("a plus sign in a form is a space", challenged("a b"), {
    body: formOf().replace(CHALLENGE, "a+b"),
    headers: [FORM],
  }),
  ...casesOf(rejected(400, "invalid_challenge"), {
    "a challenge one character longer than 1 KiB is rejected": inForm({ hub_challenge: "c".repeat(1025) }),
    "an empty challenge is rejected": inForm({ hub_challenge: "" }),
    "a challenge that ends with a line feed is rejected": inForm({ hub_challenge: "a\n" }),
    "a challenge with a non-ASCII character is rejected": inForm({ hub_challenge: "é" }),
  }),
  caseOf(
    "the second key is accepted as the token",
    challenged(CHALLENGE, { keyIndex: 1 }),
    inForm({ hub_verify_token: OLD_KEY }),
  ),
  caseOf(
    "the token is checked before the challenge",
    wrongToken,
    inForm({ hub_verify_token: FOREIGN_KEY, hub_challenge: "é" }),
  ),
  ...casesOf(none, {
    "a form without hub_mode is not a handshake": inForm({ hub_mode: undefined }),
    "a form without a token is not a handshake": inForm({ hub_verify_token: undefined }),
    "a form without a challenge is not a handshake": inForm({ hub_challenge: undefined }),
    "a challenge that is a number is not a handshake": inJson({ hub_challenge: 123456789012 }),
    "a JSON object inside a list is not a handshake": { body: `[${jsonOf()}]`, headers: [JSON_TYPE] },
    "truncated JSON is not a handshake": { body: jsonOf().slice(0, -1), headers: [JSON_TYPE] },
    "parameters split between the body and the query are not a handshake": {
      target: `/hook?${formOf({ hub_challenge: undefined })}`,
      body: `hub_challenge=${CHALLENGE}`,
      headers: [FORM],
    },
    "a form of more than 8 KiB is not a handshake": inForm({ pad: "x".repeat(PAD_TO_8_KIB + 1) }),
  }),
];
