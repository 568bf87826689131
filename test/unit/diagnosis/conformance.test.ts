import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { checkEndpoint } from "../../../provider/diagnosis/index.js";
import { createResponder } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import vectors from "../../../schema/vectors.json" with { type: "json" };
import { startListener, startServer } from "../../support/http.ts";

const verificationKey = "the-key-of-this-endpoint";
const earlierKey = "the-key-that-it-had-before";
const ACCEPTED = [verificationKey, earlierKey];

interface Received {
  raw: Buffer;
  header: (name: string) => string;
  url: URL;
}
interface Reply {
  status: number;
  body?: string;
}

/** The steps of an endpoint. Each broken endpoint does one of them differently. */
interface Steps {
  parameters: (received: Received) => Record<string, unknown>;
  isToken: (token: string) => boolean;
  challenge: (challenge: string) => string;
  isSigned: (signature: string, raw: Buffer) => boolean;
  take: (raw: Buffer, received: Received) => number;
}

const hmacOf = (key: string, body: string | Buffer): string =>
  createHmac("sha256", key).update(body).digest("hex");
const isSignatureOf = (body: string | Buffer, signature: string, keys = ACCEPTED): boolean =>
  keys.some((key) => signature === `sha256=${hmacOf(key, body)}`);
const formOf = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));
const partsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/name="(\w+)"\r\n\r\n(.*?)\r\n/g)].map(([, name, value]) => [name, value]),
  );

const encodingOf = ({ raw, header, url }: Received): string => {
  if (header("content-type").includes("json")) return "json";
  if (header("content-type").includes("form-data")) return "multipart";
  return url.search === "" && raw.length > 0 ? "form" : "query";
};

const RIGHT: Steps = {
  parameters({ raw, header, url }) {
    const text = raw.toString("utf8");
    const inBody = header("content-type").includes("form-data") ? partsOf(text) : formOf(text);
    if (header("content-type").includes("json"))
      return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    return "hub_mode" in inBody ? inBody : formOf(url.search);
  },
  isToken: (token) => ACCEPTED.includes(token),
  challenge: (challenge) => challenge,
  isSigned: (signature, raw) => isSignatureOf(raw, signature),
  take: () => 200,
};

function answer(steps: Steps, received: Received): Reply {
  const { hub_mode, hub_verify_token, hub_challenge } = steps.parameters(received);
  if (hub_mode !== undefined) {
    const isHandshake =
      hub_mode === "subscribe" && typeof hub_verify_token === "string" && typeof hub_challenge === "string";
    return isHandshake && steps.isToken(hub_verify_token)
      ? { status: 200, body: steps.challenge(hub_challenge) }
      : { status: 401 };
  }
  const { raw, header } = received;
  return { status: steps.isSigned(header("x-hub-signature-256"), raw) ? steps.take(raw, received) : 401 };
}

/** Throws, as some constant-time comparisons do. */
function isAscii(text: string): true {
  if (/[^\0-\x7f]/.test(text)) throw new TypeError("not ASCII");
  return true;
}

/** Checks an endpoint with these mistakes. */
async function checkWith(mistakes: Partial<Steps>) {
  const { url } = await startServer(({ bytes: raw, headers, path }, response) => {
    const header = (name: string): string => String(headers[name] ?? "");
    try {
      const received = { raw, header, url: new URL(path, "http://127.0.0.1") };
      const { status, body } = answer({ ...RIGHT, ...mistakes }, received);
      response.writeHead(status).end(body);
    } catch {
      response.writeHead(500).end();
    }
  });
  return check(url);
}

const check = async (url: string) =>
  (await checkEndpoint({ url, verificationKey, earlierKey })).filter(({ result }) => result !== "right");

/** Starts the responder of this package. */
async function startResponder(verificationKeys: string | string[] = ACCEPTED): Promise<string> {
  const responder = createResponder({ verificationKeys, onDelivery: () => undefined });
  return (await startListener(toNodeListener(responder))).url;
}

test("the responder of this package passes every check", async () => {
  const url = await startResponder();
  expect(await check(url)).toEqual([]);
  const alone = await checkEndpoint({ url, verificationKey });
  expect(alone.filter(({ result }) => result === "skipped")).toHaveLength(2);
  expect(alone).toHaveLength(vectors.handshakes.length + vectors.deliveries.length);
});

test("the endpoint of these tests passes without mistakes", async () => {
  expect(await checkWith({})).toEqual([]);
});

test("a late response is wrong, even with the right content", async () => {
  const url = await startResponder();
  const checks = await checkEndpoint({ url, verificationKey, earlierKey, slowMs: 0 });
  expect(new Set(checks.map(({ result, rule }) => `${result} ${rule}`))).toEqual(new Set(["wrong 8"]));
  expect(checks[0]?.response).toMatch(/^HTTP 200 after \d\.\d s$/);
});

const base64Of = (raw: Buffer): string => createHmac("sha256", verificationKey).update(raw).digest("base64");

test("if a plain delivery fails, every delivery gets its hint", async () => {
  const failed = await checkWith({ isSigned: (signature, raw) => signature === `sha256=${base64Of(raw)}` });
  expect(failed.length).toBeGreaterThan(10);
  expect(new Set(failed.map(({ rule, hint }) => `${rule}: ${hint}`)).size).toBe(1);
});

/** Responds as FastAPI without its package for forms. */
const failOnForms: Steps["parameters"] = (received) => {
  const encoding = encodingOf(received);
  if (encoding === "multipart" || (encoding === "form" && !received.raw.includes("{")))
    throw new Error("The python-multipart library must be installed to use form parsing.");
  return RIGHT.parameters(received);
};

test("an endpoint that fails on each form gets one hint for all of them", async () => {
  const failed = await checkWith({ parameters: failOnForms });
  const forms = vectors.handshakes.filter(({ encoding }) => encoding === "form" || encoding === "multipart");
  expect(failed.map(({ name }) => name)).toEqual(forms.map(({ name }) => name));
  expect(new Set(failed.map(({ response, rule }) => `${response}, rule ${rule}`))).toEqual(
    new Set(["HTTP 500, rule 1"]),
  );
  for (const { hint } of failed) expect(hint).toContain("pip install python-multipart");
});

test("a key without letters is not sent in a different case", async () => {
  const url = await startResponder("0123456789");
  const checks = await checkEndpoint({ url, verificationKey: "0123456789" });
  expect(checks.filter(({ result, rule }) => result !== "right" && rule !== 6)).toEqual([
    { name: "handshake with the token in other case", rule: 2, result: "skipped", response: "" },
  ]);
});

test("a redirect is reported as a redirect", async () => {
  const [first] = await checkWith({ take: () => 302 });
  expect(first).toMatchObject({
    name: "delivery: text",
    response: "HTTP 302",
    hint: expect.stringContaining("redirect"),
  });
});

const hasBadToken = ({ accepted, name }: { accepted: boolean; name: string }): boolean =>
  !accepted && name.includes(" token");
const BAD_TOKENS = vectors.handshakes.filter(hasBadToken).map(({ name }) => name);
const A_SIGNED_HANDSHAKE = "signed delivery with the fields of a handshake and a wrong token";
const BAD_SIGNATURES = vectors.deliveries
  .filter(({ accepted, name }) => !accepted && name !== A_SIGNED_HANDSHAKE)
  .map(({ name }) => name);

/** Replaces some of the parameters that a right endpoint reads. */
const readAlso = (
  read: (parameters: Record<string, unknown>, received: Received) => Record<string, unknown>,
): Partial<Steps> => ({
  parameters: (received) => {
    const parameters = RIGHT.parameters(received);
    return { ...parameters, ...read(parameters, received) };
  },
});

/** Returns the parameter with this token, if there is one. */
const tokenIf = (token: string | undefined): Record<string, unknown> =>
  token === undefined ? {} : { hub_verify_token: token };

type Mistake = [name: string, Partial<Steps>, failed: string[]];

/** Endpoints that accept invalid requests. */
const UNSAFE: Mistake[] = [
  ["takes every token", { isToken: () => true }, [...BAD_TOKENS, A_SIGNED_HANDSHAKE]],
  ...(["form", "json", "multipart", "query"] as const).map((encoding): Mistake => {
    const ofEncoding = vectors.handshakes.filter((one) => hasBadToken(one) && one.encoding === encoding);
    return [
      `checks the token except in the encoding ${encoding}`,
      readAlso(({ hub_verify_token }, received) =>
        encodingOf(received) === encoding && typeof hub_verify_token === "string" ? tokenIf(earlierKey) : {},
      ),
      [...ofEncoding.map(({ name }) => name), ...(encoding === "json" ? [A_SIGNED_HANDSHAKE] : [])],
    ];
  }),
  [
    "compares only the received length of a token",
    { isToken: (token) => ACCEPTED.some((key) => key.startsWith(token)) },
    ["handshake with an empty token", "handshake with the start of the token"],
  ],
  [
    "compares only the expected length of a token",
    { isToken: (token) => ACCEPTED.some((key) => token.startsWith(key)) },
    ["handshake with more than the token"],
  ],
  [
    "ignores the case of a token",
    { isToken: (token) => ACCEPTED.includes(token.toLowerCase()) },
    ["handshake with the token in other case"],
  ],
  [
    "trims a token",
    { isToken: (token) => ACCEPTED.includes(token.trim()) },
    ["handshake with blanks around the token"],
  ],
  [
    "looks for its key among several tokens",
    readAlso((_, { raw }) => {
      const tokens = new URLSearchParams(raw.toString("utf8")).getAll("hub_verify_token");
      return tokenIf(tokens.find((one) => ACCEPTED.includes(one)));
    }),
    ["handshake with the token between two wrong ones"],
  ],
  [
    "compares a token of another type as JavaScript's == and PHP's do",
    readAlso(({ hub_verify_token: token }) => (token === true ? tokenIf(verificationKey) : {})),
    ["handshake with the boolean true as hub_verify_token"],
  ],
  [
    "reads a list of tokens as PHP and qs do",
    readAlso((_, { raw }) => tokenIf(formOf(raw.toString("utf8"))["hub_verify_token[]"])),
    ["handshake with hub_verify_token[] as the name"],
  ],
  [
    "takes every hub_mode",
    readAlso(({ hub_mode }) => (hub_mode === undefined ? {} : { hub_mode: "subscribe" })),
    ["handshake with another hub_mode"],
  ],
  [
    "accepts a signature instead of a token",
    readAlso((_, { raw, header }) =>
      isSignatureOf(raw, header("x-hub-signature-256")) ? tokenIf(verificationKey) : {},
    ),
    [A_SIGNED_HANDSHAKE],
  ],
  [
    "reads the algorithm from the signature",
    {
      isSigned: (signature, raw) => {
        const [algorithm = "", hex] = signature.split("=");
        const isRight = (key: string): boolean =>
          hex === createHmac(algorithm, key).update(raw).digest("hex");
        return ["sha1", "sha256"].includes(algorithm) && ACCEPTED.some(isRight);
      },
    },
    ["signature by HMAC-SHA-1"],
  ],
  [
    "treats an empty body as a health check",
    { isSigned: (signature, raw) => raw.length === 0 || isSignatureOf(raw, signature) },
    ["empty body without a signature"],
  ],
  [
    "has an empty key for signatures",
    { isSigned: (signature, raw) => isSignatureOf(raw, signature, [...ACCEPTED, ""]) },
    ["delivery signed with an empty key"],
  ],
  [
    "compares only the received length of a signature",
    {
      isSigned: (signature, raw) =>
        signature !== "" && ACCEPTED.some((key) => `sha256=${hmacOf(key, raw)}`.startsWith(signature)),
    },
    ["signature with nothing behind its prefix", "signature cut short"],
  ],
  [
    "compares only the expected length of a signature",
    { isSigned: (signature, raw) => isSignatureOf(raw, signature.slice(0, 71)) },
    ["signature with more behind it"],
  ],
  ["checks no signature", { isSigned: () => true }, BAD_SIGNATURES],
  [
    "checks a signature only if there is one",
    { isSigned: (signature, raw) => signature === "" || isSignatureOf(raw, signature) },
    ["delivery without a signature", "empty body without a signature", "signature in another header"],
  ],
  [
    "ignores the prefix",
    { isSigned: (signature, raw) => isSignatureOf(raw, signature.replace(/^(\w+=)?/, "sha256=")) },
    ["signature without its prefix", "signature with the prefix of another algorithm"],
  ],
];

const seen = new Set<string>();

/** Endpoints that reject valid requests. */
const WRONG: Mistake[] = [
  [
    "rejects a form with a charset",
    {
      parameters: (received) =>
        received.header("content-type").includes("charset") ? {} : RIGHT.parameters(received),
    },
    ["form with a charset in its Content-Type"],
  ],
  [
    "escapes the challenge for HTML",
    { challenge: (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;") },
    ["challenge with characters of markup and forms"],
  ],
  [
    "decodes the challenge twice",
    { challenge: (text) => decodeURIComponent(text.replaceAll("+", " ")) },
    ["challenge with characters of markup and forms"],
  ],
  [
    "reads the challenge as a number",
    { challenge: (text) => (/^\d+$/.test(text) ? String(Number(text)) : text) },
    ["challenge of digits"],
  ],
  [
    "reads forms only",
    { parameters: ({ raw }) => formOf(raw.toString("utf8")) },
    ["handshake as JSON", "handshake as a multipart form", "handshake in the query"],
  ],
  [
    "treats a text as a handshake",
    readAlso((_, { raw }) => {
      const text = raw.toString("utf8");
      return text.includes("hub_mode=subscribe") ? formOf(text.replace(/^.*?hub_mode/, "hub_mode")) : {};
    }),
    ["delivery whose text speaks of a handshake"],
  ],
  [
    "normalises a body",
    { isSigned: (signature, raw) => isSignatureOf(raw.toString("utf8").normalize("NFC"), signature) },
    ["delivery with letters and accents apart"],
  ],
  [
    "signs the body decoded as Latin-1",
    { isSigned: (signature, raw) => isSignatureOf(raw.toString("latin1"), signature) },
    ["delivery with text beyond ASCII", "delivery with letters and accents apart"],
  ],
  [
    "knows the current key only",
    {
      isToken: (token) => token === verificationKey,
      isSigned: (signature, raw) => isSignatureOf(raw, signature, [verificationKey]),
    },
    ["handshake with an earlier key", "delivery signed with an earlier key"],
  ],
  [
    "rejects unknown kinds",
    { take: (raw) => (raw.includes("sticker") ? 422 : 200) },
    ["delivery of an unknown kind"],
  ],
  [
    "reads only bodies declared as JSON",
    { take: (_, { header }) => (header("content-type").includes("json") ? 200 : 401) },
    ["delivery declared as a form, as PHP's curl does"],
  ],
  [
    "fails on text beyond ASCII",
    {
      isToken: (token) => isAscii(token) && RIGHT.isToken(token),
      isSigned: (signature, raw) => isAscii(signature) && isSignatureOf(raw, signature),
    },
    [...BAD_TOKENS.filter((name) => name.includes("wrong")), "signature with a letter beyond ASCII"],
  ],
  ["has a limit of 100 KB", { take: (raw) => (raw.length > 100_000 ? 413 : 200) }, ["delivery of 1 MiB"]],
  [
    "rejects repeated deliveries",
    {
      take: (raw) => {
        const isNew = !seen.has(raw.toString("base64"));
        seen.add(raw.toString("base64"));
        return isNew ? 200 : 409;
      },
    },
    ["the same delivery twice", "delivery signed with an earlier key"],
  ],
];

test.each([
  ...UNSAFE.map((mistake) => [...mistake, "unsafe"] as const),
  ...WRONG.map((mistake) => [...mistake, "wrong"] as const),
])("an endpoint that %s fails only the checks of that step", async (_, mistake, names, result) => {
  const failed = await checkWith(mistake);
  expect(failed.map((one) => [one.result, one.name])).toEqual(names.map((name) => [result, name]));
  for (const { hint } of failed) expect(hint).toMatch(/\w/);
});

test("an endpoint that signs the JSON that it has parsed is wrong, and unsafe", async () => {
  const failed = await checkWith({
    isSigned: (signature, raw) =>
      raw.length > 0 && isSignatureOf(JSON.stringify(JSON.parse(raw.toString("utf8"))), signature),
  });
  expect(failed.map(({ result, name }) => [result, name])).toEqual([
    ["wrong", "delivery with escapes as PHP writes them"],
    ["wrong", "delivery with whitespace between its fields"],
    ["wrong", "delivery with a conversation id beyond 2^53"],
    ["unsafe", "delivery whose JSON was signed in another form"],
  ]);
});

test("an endpoint that does not respond fails everywhere, and the report contains no key", async () => {
  const { url } = await startServer((_, response) => response.destroy());
  const failed = await check(`${url}/?token=${verificationKey}`);
  expect(failed).toHaveLength(vectors.handshakes.length + vectors.deliveries.length);
  expect(new Set(failed.map(({ result }) => result))).toEqual(new Set(["wrong"]));
  expect(failed.at(-1)?.response).toBe("the connection is closed before the answer is complete");
  expect(JSON.stringify(failed)).not.toContain(verificationKey);
});
