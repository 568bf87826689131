import {
  cannotOnLambda,
  challenged,
  FOREIGN_KEY,
  KEY,
  OLD_KEY,
  refused,
  type ContractCase,
  type ContractExpectation,
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
/** A body as PHP's curl writes it when it is given an array. */
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

const wrongToken = refused(401, "invalid_token");
const badChallenge = refused(400, "invalid_challenge");
const none = refused(401, "invalid_signature", /neither a handshake nor a signed delivery/);
const dotted = refused(401, "invalid_signature", /not a handshake: .*underscores and not dots/);
const DOTTED: Parameters = { "hub.mode": "subscribe", "hub.verify_token": KEY, "hub.challenge": CHALLENGE };
const NO_UNDERSCORES = { hub_mode: undefined, hub_verify_token: undefined, hub_challenge: undefined };

const aCase = (name: string, request: ContractRequest, expected: ContractExpectation): ContractCase => ({
  name,
  request,
  expected,
});

/** The same challenge in each of the four encodings. */
const challengeInAll = (name: string, challenge: string): ContractCase[] => [
  aCase(`a challenge ${name}, in a form`, inForm({ hub_challenge: challenge }), challenged(challenge)),
  aCase(
    `a challenge ${name}, in JSON`,
    inJson({ hub_challenge: challenge }),
    challenged(challenge, { encoding: "json" }),
  ),
  aCase(
    `a challenge ${name}, in a multipart form`,
    inParts(partsOf({ hub_challenge: challenge })),
    challenged(challenge, { encoding: "multipart" }),
  ),
  aCase(
    `a challenge ${name}, in the query`,
    inQuery({ hub_challenge: challenge }),
    challenged(challenge, { encoding: "query" }),
  ),
];

const badChallengeIn = (name: string, hub_challenge: string): ContractCase[] => [
  aCase(`a challenge ${name} is not given back, in a form`, inForm({ hub_challenge }), badChallenge),
  aCase(`a challenge ${name} is not given back, in JSON`, inJson({ hub_challenge }), badChallenge),
  aCase(
    `a challenge ${name} is not given back, in a multipart form`,
    inParts(partsOf({ hub_challenge })),
    badChallenge,
  ),
];

const encodings: ContractCase[] = [
  ...challengeInAll("of 32 hex digits", CHALLENGE),
  aCase("a form that says nothing of its type", { body: formOf() }, challenged(CHALLENGE)),
  aCase("a form that says it is JSON", { body: formOf(), headers: [JSON_TYPE] }, challenged(CHALLENGE)),
  aCase(
    "JSON that says it is a form",
    { body: jsonOf(), headers: [FORM] },
    challenged(CHALLENGE, { encoding: "json" }),
  ),
  aCase(
    "JSON with a byte order mark and white space",
    { body: `\ufeff \r\n${jsonOf()}\n`, headers: [JSON_TYPE] },
    challenged(CHALLENGE, { encoding: "json" }),
  ),
  aCase(
    "JSON as PHP writes it",
    {
      body: jsonOf({ hub_challenge: "a/b" }).replaceAll("/", "\\/").replaceAll("é", "\\u00e9"),
      headers: [JSON_TYPE],
    },
    challenged("a/b", { encoding: "json" }),
  ),
  aCase(
    "a form with an encoded name",
    { body: formOf().replaceAll("_", "%5F"), headers: [FORM] },
    challenged(CHALLENGE),
  ),
  aCase(
    "a query with an encoded name",
    { target: `/hook?tenant=7&${formOf().replaceAll("_", "%5F")}` },
    challenged(CHALLENGE, { url: "/hook?tenant=7", encoding: "query" }),
  ),
  aCase("a form of 8 KiB", inForm({ pad: "x".repeat(PAD_TO_8_KIB) }), challenged(CHALLENGE)),
  aCase("a form with other parameters", inForm({ hub_topic: "x", action: "y" }), challenged(CHALLENGE)),
  aCase(
    "JSON with other parameters",
    inJson({ hub_topic: { a: 1 }, n: null }),
    challenged(CHALLENGE, { encoding: "json" }),
  ),
  aCase(
    "a form at a URL with a query of its own",
    { ...inForm(), target: "/hook?tenant=7&hub_mode=x" },
    challenged(CHALLENGE, { url: "/hook?tenant=7" }),
  ),
  aCase(
    "JSON at a URL with a query of its own",
    { ...inJson(), target: "/hook?tenant=7" },
    challenged(CHALLENGE, { url: "/hook?tenant=7", encoding: "json" }),
  ),
  aCase(
    "a query after one of the URL's own",
    { target: `/hook?tenant=7&${formOf()}` },
    challenged(CHALLENGE, { url: "/hook?tenant=7", encoding: "query" }),
  ),
  aCase(
    "a query with an empty JSON object as the body",
    { ...inQuery(), body: "{}", headers: [JSON_TYPE] },
    challenged(CHALLENGE, { encoding: "query" }),
  ),
  aCase(
    "one in the body and one in the query: the body counts",
    { ...inForm(), target: `/hook?${formOf({ hub_challenge: "other" })}` },
    challenged(CHALLENGE),
  ),
  aCase(
    "a parameter that comes twice: the first counts",
    { body: `${formOf()}&hub_challenge=other`, headers: [FORM] },
    challenged(CHALLENGE),
  ),
  aCase(
    "a handshake with a wrong signature",
    { ...inForm(), signed: { key: FOREIGN_KEY } },
    challenged(CHALLENGE),
  ),
  aCase("a handshake with a right signature", { ...inForm(), signed: {} }, challenged(CHALLENGE)),
  {
    ...aCase("a form in chunks", { ...inForm(), transfer: { chunkBytes: 7 } }, challenged(CHALLENGE)),
    cannot: cannotOnLambda("the event holds the whole body"),
  },
];

const inMultipart = challenged(CHALLENGE, { encoding: "multipart" });
const FILE_PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="hub_mode"; filename="a.txt"\r\n\r\nx\r\n`;

const multipart: ContractCase[] = [
  aCase(
    "a multipart form with other headers, in another order and case, and a name without quotes",
    inParts(
      partsOf({}, "Content-Type: text/plain; charset=utf-8\r\ncontent-disposition: FORM-DATA;name=NAME"),
    ),
    inMultipart,
  ),
  aCase(
    "a multipart form with another field and a file of the same name",
    inParts(FILE_PART + partsOf({ hub_topic: "x\r\n\r\ny" })),
    inMultipart,
  ),
  aCase("a multipart form that says nothing of its type", { body: partsOf() }, inMultipart),
  aCase(
    "a multipart form with a field that comes twice: the first counts",
    inParts(partsOf().replace(`--${BOUNDARY}--\r\n`, "") + partsOf({ hub_challenge: "other" })),
    inMultipart,
  ),
  aCase(
    "a multipart form at a URL with a query of its own",
    { ...inParts(partsOf()), target: "/hook?tenant=7" },
    challenged(CHALLENGE, { url: "/hook?tenant=7", encoding: "multipart" }),
  ),
  aCase(
    "a multipart form with another token",
    inParts(partsOf({ hub_verify_token: FOREIGN_KEY })),
    wrongToken,
  ),
  aCase("a multipart form that is cut off", inParts(partsOf().slice(0, -6)), none),
  aCase("a multipart form with line feeds alone", inParts(partsOf().replaceAll("\r\n", "\n")), none),
  aCase(
    "a multipart form whose boundary goes on",
    inParts(partsOf().replaceAll(`${BOUNDARY}\r\nContent`, `${BOUNDARY}x\r\nContent`)),
    none,
  ),
  aCase("a multipart form without the names", inParts(partsOf({}, "Content-Disposition: form-data")), none),
  aCase(
    "a multipart form of more than 8 KiB is no handshake",
    inParts(partsOf({ pad: "x".repeat(8192) })),
    none,
  ),
];

const challenges: ContractCase[] = [
  ...challengeInAll("of 1 KiB", "c".repeat(1024)),
  ...challengeInAll("with HTML in it", "<script>alert(1)</script><h1>&amp;</h1>"),
  ...challengeInAll("with every printable character", PRINTABLE),
  aCase("a challenge of one character", inForm({ hub_challenge: "0" }), challenged("0")),
  aCase("a challenge of digits keeps its zeros", inForm({ hub_challenge: "0012" }), challenged("0012")),
  aCase("a challenge with white space at its ends", inForm({ hub_challenge: " a b " }), challenged(" a b ")),
  aCase(
    "a plus sign in a form is a space",
    { body: formOf().replace(CHALLENGE, "a+b"), headers: [FORM] },
    challenged("a b"),
  ),
  ...badChallengeIn("of one character more than 1 KiB", "c".repeat(1025)),
  ...badChallengeIn("that is empty", ""),
  ...badChallengeIn("with a line feed", "a\nb"),
  ...badChallengeIn("with headers in it", "a\r\nset-cookie: b=1\r\n\r\n"),
  ...badChallengeIn("with a NUL", "a\0b"),
  ...badChallengeIn("with an escape sequence", "\u001b[31m"),
  ...badChallengeIn("with DEL", "a\u007f"),
  ...badChallengeIn("with a line feed at its end", "a\n"),
  ...badChallengeIn("beyond ASCII", "é"),
  ...badChallengeIn("with a lone surrogate", "a\ufffdb"),
];

const tokens: ContractCase[] = [
  aCase(
    "the second key as the token",
    inForm({ hub_verify_token: OLD_KEY }),
    challenged(CHALLENGE, { keyIndex: 1 }),
  ),
  aCase("another token", inForm({ hub_verify_token: FOREIGN_KEY }), wrongToken),
  aCase("another token, in JSON", inJson({ hub_verify_token: FOREIGN_KEY }), wrongToken),
  aCase("another token, in the query", inQuery({ hub_verify_token: FOREIGN_KEY }), wrongToken),
  aCase("an empty token", inForm({ hub_verify_token: "" }), wrongToken),
  aCase("the key in upper case as the token", inForm({ hub_verify_token: KEY.toUpperCase() }), wrongToken),
  aCase(
    "the key with white space after it as the token",
    inForm({ hub_verify_token: `${KEY} ` }),
    wrongToken,
  ),
  aCase("the start of the key as the token", inForm({ hub_verify_token: KEY.slice(0, -1) }), wrongToken),
  aCase("both keys together as the token", inForm({ hub_verify_token: KEY + OLD_KEY }), wrongToken),
  aCase(
    "the token is looked at before the challenge",
    inForm({ hub_verify_token: FOREIGN_KEY, hub_challenge: "é" }),
    wrongToken,
  ),
  {
    ...aCase("a handshake that cannot be noted", inForm(), refused(500, "handler_failed")),
    options: { program: "handshake is not noted" },
  },
  {
    ...aCase("a handshake while the keys cannot be had", inForm(), refused(500, "keys_unavailable")),
    options: { program: "keys throw" },
  },
];

const noHandshakes: ContractCase[] = [
  aCase("no hub_mode is no handshake", inForm({ hub_mode: undefined }), none),
  aCase("another hub_mode is no handshake", inForm({ hub_mode: "unsubscribe" }), none),
  aCase("hub_mode in another case is no handshake", inForm({ hub_mode: "Subscribe" }), none),
  aCase("no token is no handshake", inForm({ hub_verify_token: undefined }), none),
  aCase("no challenge is no handshake", inForm({ hub_challenge: undefined }), none),
  aCase("a challenge that is a number is no handshake", inJson({ hub_challenge: 123456789012 }), none),
  aCase("a token that is a list is no handshake", inJson({ hub_verify_token: [KEY] }), none),
  aCase(
    "names in upper case are no handshake",
    { body: formOf().replaceAll("hub_", "HUB_"), headers: [FORM] },
    none,
  ),
  aCase("JSON in a list is no handshake", { body: `[${jsonOf()}]`, headers: [JSON_TYPE] }, none),
  aCase(
    "JSON within JSON is no handshake",
    { body: JSON.stringify({ hub: parameters() }), headers: [JSON_TYPE] },
    none,
  ),
  aCase("JSON that is cut off is no handshake", { body: jsonOf().slice(0, -1), headers: [JSON_TYPE] }, none),
  aCase(
    "parameters spread over body and query are no handshake",
    {
      target: `/hook?${formOf({ hub_challenge: undefined })}`,
      body: `hub_challenge=${CHALLENGE}`,
      headers: [FORM],
    },
    none,
  ),
  aCase("a form of more than 8 KiB is no handshake", inForm({ pad: "x".repeat(PAD_TO_8_KIB + 1) }), none),
  aCase("JSON of more than 8 KiB is no handshake", inJson({ pad: "x".repeat(8192) }), none),
  aCase("dotted names, in a form", inForm({ ...NO_UNDERSCORES, ...DOTTED }), dotted),
  aCase("dotted names, in JSON", inJson({ ...NO_UNDERSCORES, ...DOTTED }), dotted),
  aCase("dotted names, in the query", inQuery({ ...NO_UNDERSCORES, ...DOTTED }), dotted),
  {
    ...aCase("a handshake over the limit", inForm({ pad: "x".repeat(300) }), refused(413, "body_too_large")),
    options: { bodyLimitBytes: 300 },
  },
];

export const handshakeCases: ContractCase[] = [
  ...encodings,
  ...multipart,
  ...challenges,
  ...tokens,
  ...noHandshakes,
];
