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
  isSigned: (received: Received) => boolean;
  take: (raw: Buffer) => number;
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
  isSigned: ({ raw, header }) => isSignatureOf(raw, header("x-hub-signature-256")),
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
  if (!steps.isSigned(received)) return { status: 401 };
  return { status: steps.take(received.raw) };
}

/** Throws, as some constant-time comparisons do. */
function isAscii(text: string): true {
  if (/[^\0-\x7f]/.test(text)) throw new TypeError("not ASCII");
  return true;
}

const answerSafely = (steps: Steps, received: Received): Reply => {
  try {
    return answer(steps, received);
  } catch {
    return { status: 500 };
  }
};

const start = async (mistake: Partial<Steps>): Promise<string> => {
  const steps = { ...RIGHT, ...mistake };
  const { url } = await startServer(({ bytes: raw, headers, path }, response) => {
    const header = (name: string): string => String(headers[name] ?? "");
    const received = { raw, header, url: new URL(path, "http://127.0.0.1") };
    const { status, body: reply } = answerSafely(steps, received);
    response.writeHead(status).end(reply);
  });
  return url;
};

const check = async (url: string) =>
  (await checkEndpoint({ url, verificationKey, earlierKey })).filter(({ result }) => result !== "right");

test("the responder of this package passes all of it", async () => {
  const responder = createResponder({ verificationKeys: ACCEPTED, onDelivery: () => undefined });
  const { port } = await startListener(toNodeListener(responder));
  const url = `http://127.0.0.1:${port}/`;
  expect(await check(url)).toEqual([]);
  const alone = await checkEndpoint({ url, verificationKey });
  expect(alone.filter(({ result }) => result === "skipped")).toHaveLength(2);
  expect(alone).toHaveLength(vectors.handshakes.length + vectors.deliveries.length);
});

test("so does the endpoint from which the broken ones below are made", async () => {
  expect(await check(await start({}))).toEqual([]);
});

test("a closed connection is described in words", async () => {
  const { url } = await startServer((_, response) => void response.destroy());
  const responses = new Set((await checkEndpoint({ url, verificationKey })).map(({ response }) => response));
  expect(responses).toContain("the connection is closed before the answer is complete");
});

test("a response that takes too long is wrong, even with the right content", async () => {
  const responder = createResponder({ verificationKeys: ACCEPTED, onDelivery: () => undefined });
  const { port } = await startListener(toNodeListener(responder));
  const checks = await checkEndpoint({
    url: `http://127.0.0.1:${port}/`,
    verificationKey,
    earlierKey,
    slowMs: 0,
  });
  expect(new Set(checks.map(({ result, rule }) => `${result} ${rule}`))).toEqual(new Set(["wrong 8"]));
  expect(checks[0]?.response).toMatch(/^HTTP 200 after \d\.\d s$/);
});

const isInBase64 = ({ raw, header }: Received): boolean =>
  header("x-hub-signature-256") ===
  `sha256=${createHmac("sha256", verificationKey).update(raw).digest("base64")}`;

test("if a plain delivery fails, the others are not blamed on other rules", async () => {
  const failed = await check(await start({ isSigned: isInBase64 }));
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
  const failed = await check(await start({ parameters: failOnForms }));
  const forms = vectors.handshakes.filter(({ encoding }) => encoding === "form" || encoding === "multipart");
  expect(failed.map(({ name }) => name)).toEqual(forms.map(({ name }) => name));
  expect(new Set(failed.map(({ response, rule }) => `${response}, rule ${rule}`))).toEqual(
    new Set(["HTTP 500, rule 1"]),
  );
  for (const { hint } of failed) expect(hint).toContain("pip install python-multipart");
});

test("a key without letters is not sent in a different case", async () => {
  const responder = createResponder({ verificationKeys: "0123456789", onDelivery: () => undefined });
  const { port } = await startListener(toNodeListener(responder));
  const checks = await checkEndpoint({ url: `http://127.0.0.1:${port}/`, verificationKey: "0123456789" });
  expect(checks.filter(({ result, rule }) => result !== "right" && rule !== 6)).toEqual([
    { name: "handshake with the token in other case", rule: 2, result: "skipped", response: "" },
  ]);
});

test("a redirect is reported as a redirect", async () => {
  const url = await start({ take: () => 302 });
  const [first] = await check(url);
  expect(first).toMatchObject({
    name: "delivery: text",
    response: "HTTP 302",
    hint: expect.stringContaining("redirect"),
  });
});

const seen = new Set<string>();
const hasBadToken = ({ accepted, name }: { accepted: boolean; name: string }): boolean =>
  !accepted && name.includes(" token");
const BAD_TOKENS = vectors.handshakes.filter(hasBadToken).map(({ name }) => name);
const A_SIGNED_HANDSHAKE = "signed delivery with the fields of a handshake and a wrong token";
const BAD_SIGNATURES = vectors.deliveries
  .filter(({ accepted, name }) => !accepted && name !== A_SIGNED_HANDSHAKE)
  .map(({ name }) => name);

/** Replaces some of the parameters that a right endpoint reads. */
const readAlso =
  (read: (received: Received) => Record<string, unknown>): Steps["parameters"] =>
  (received) => ({ ...RIGHT.parameters(received), ...read(received) });

const hasToken = (received: Received): boolean =>
  typeof RIGHT.parameters(received)["hub_verify_token"] === "string";
const tokensOf = ({ raw }: Received): string[] =>
  new URLSearchParams(raw.toString("utf8")).getAll("hub_verify_token");

test.each<[string, Partial<Steps>, "wrong" | "unsafe", string[]]>([
  ["takes every token", { isToken: () => true }, "unsafe", [...BAD_TOKENS, A_SIGNED_HANDSHAKE]],
  ...(["form", "json", "multipart", "query"] as const).map(
    (encoding): [string, Partial<Steps>, "unsafe", string[]] => [
      `checks the token except in the encoding ${encoding}`,
      {
        parameters: readAlso((received) =>
          encodingOf(received) === encoding && hasToken(received) ? { hub_verify_token: earlierKey } : {},
        ),
      },
      "unsafe",
      [
        ...vectors.handshakes
          .filter((one) => hasBadToken(one) && one.encoding === encoding)
          .map(({ name }) => name),
        ...(encoding === "json" ? [A_SIGNED_HANDSHAKE] : []),
      ],
    ],
  ),
  [
    "compares only the received length of a token",
    { isToken: (token) => ACCEPTED.some((key) => key.startsWith(token)) },
    "unsafe",
    ["handshake with an empty token", "handshake with the start of the token"],
  ],
  [
    "compares only the expected length of a token",
    { isToken: (token) => ACCEPTED.some((key) => token.startsWith(key)) },
    "unsafe",
    ["handshake with more than the token"],
  ],
  [
    "ignores the case of a token",
    { isToken: (token) => ACCEPTED.includes(token.toLowerCase()) },
    "unsafe",
    ["handshake with the token in other case"],
  ],
  [
    "trims a token",
    { isToken: (token) => ACCEPTED.includes(token.trim()) },
    "unsafe",
    ["handshake with blanks around the token"],
  ],
  [
    "looks for its key among several tokens",
    {
      parameters: readAlso((received) => {
        const token = tokensOf(received).find((one) => ACCEPTED.includes(one));
        return token === undefined ? {} : { hub_verify_token: token };
      }),
    },
    "unsafe",
    ["handshake with the token between two wrong ones"],
  ],
  [
    "compares a token of another type as JavaScript's == and PHP's do",
    {
      parameters: readAlso((received) =>
        RIGHT.parameters(received)["hub_verify_token"] === true ? { hub_verify_token: verificationKey } : {},
      ),
    },
    "unsafe",
    ["handshake with the boolean true as hub_verify_token"],
  ],
  [
    "reads a list of tokens as PHP and qs do",
    {
      parameters: readAlso(({ raw }) => {
        const token = formOf(raw.toString("utf8"))["hub_verify_token[]"];
        return token === undefined ? {} : { hub_verify_token: token };
      }),
    },
    "unsafe",
    ["handshake with hub_verify_token[] as the name"],
  ],
  [
    "takes every hub_mode",
    {
      parameters: readAlso((received) =>
        "hub_mode" in RIGHT.parameters(received) ? { hub_mode: "subscribe" } : {},
      ),
    },
    "unsafe",
    ["handshake with another hub_mode"],
  ],
  [
    "accepts a signature instead of a token",
    {
      parameters: readAlso((received) =>
        RIGHT.isSigned(received) ? { hub_verify_token: verificationKey } : {},
      ),
    },
    "unsafe",
    [A_SIGNED_HANDSHAKE],
  ],
  [
    "rejects a form with a charset",
    {
      parameters: (received) =>
        received.header("content-type").includes("charset") ? {} : RIGHT.parameters(received),
    },
    "wrong",
    ["form with a charset in its Content-Type"],
  ],
  [
    "escapes the challenge for HTML",
    { challenge: (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;") },
    "wrong",
    ["challenge with characters of markup and forms"],
  ],
  [
    "decodes the challenge twice",
    { challenge: (text) => decodeURIComponent(text.replaceAll("+", " ")) },
    "wrong",
    ["challenge with characters of markup and forms"],
  ],
  [
    "reads the algorithm from the signature",
    {
      isSigned: ({ raw, header }) => {
        const [algorithm = "", hex] = header("x-hub-signature-256").split("=");
        return (
          ["sha1", "sha256"].includes(algorithm) &&
          ACCEPTED.some((key) => hex === createHmac(algorithm, key).update(raw).digest("hex"))
        );
      },
    },
    "unsafe",
    ["signature by HMAC-SHA-1"],
  ],
  [
    "treats an empty body as a health check",
    { isSigned: (received) => received.raw.length === 0 || RIGHT.isSigned(received) },
    "unsafe",
    ["empty body without a signature"],
  ],
  [
    "has an empty key for signatures",
    {
      isSigned: ({ raw, header }) => isSignatureOf(raw, header("x-hub-signature-256"), [...ACCEPTED, ""]),
    },
    "unsafe",
    ["delivery signed with an empty key"],
  ],
  [
    "normalises a body",
    {
      isSigned: ({ raw, header }) =>
        isSignatureOf(raw.toString("utf8").normalize("NFC"), header("x-hub-signature-256")),
    },
    "wrong",
    ["delivery with letters and accents apart"],
  ],
  [
    "compares only the received length of a signature",
    {
      isSigned: ({ raw, header }) => {
        const signature = header("x-hub-signature-256");
        return signature !== "" && ACCEPTED.some((key) => `sha256=${hmacOf(key, raw)}`.startsWith(signature));
      },
    },
    "unsafe",
    ["signature with nothing behind its prefix", "signature cut short"],
  ],
  [
    "compares only the expected length of a signature",
    {
      isSigned: ({ raw, header }) => isSignatureOf(raw, header("x-hub-signature-256").slice(0, 71)),
    },
    "unsafe",
    ["signature with more behind it"],
  ],
  [
    "reads the challenge as a number",
    { challenge: (text) => (/^\d+$/.test(text) ? String(Number(text)) : text) },
    "wrong",
    ["challenge of digits"],
  ],
  [
    "reads forms only",
    { parameters: ({ raw }) => formOf(raw.toString("utf8")) },
    "wrong",
    ["handshake as JSON", "handshake as a multipart form", "handshake in the query"],
  ],
  [
    "treats a text as a handshake",
    {
      parameters: (received) => ({
        ...RIGHT.parameters(received),
        ...(/hub_mode=subscribe/.test(received.raw.toString("utf8")) &&
          formOf(received.raw.toString("utf8").replace(/^.*?hub_mode/, "hub_mode"))),
      }),
    },
    "wrong",
    ["delivery whose text speaks of a handshake"],
  ],
  ["checks no signature", { isSigned: () => true }, "unsafe", BAD_SIGNATURES],
  [
    "checks a signature only if there is one",
    {
      isSigned: (received) => received.header("x-hub-signature-256") === "" || RIGHT.isSigned(received),
    },
    "unsafe",
    ["delivery without a signature", "empty body without a signature", "signature in another header"],
  ],
  [
    "ignores the prefix",
    {
      isSigned: ({ raw, header }) =>
        isSignatureOf(raw, header("x-hub-signature-256").replace(/^(\w+=)?/, "sha256=")),
    },
    "unsafe",
    ["signature without its prefix", "signature with the prefix of another algorithm"],
  ],
  [
    "knows the current key only",
    {
      isToken: (token) => token === verificationKey,
      isSigned: ({ raw, header }) => isSignatureOf(raw, header("x-hub-signature-256"), [verificationKey]),
    },
    "wrong",
    ["handshake with an earlier key", "delivery signed with an earlier key"],
  ],
  [
    "signs the body decoded as Latin-1",
    { isSigned: ({ raw, header }) => isSignatureOf(raw.toString("latin1"), header("x-hub-signature-256")) },
    "wrong",
    ["delivery with text beyond ASCII", "delivery with letters and accents apart"],
  ],
  [
    "rejects unknown kinds",
    { take: (raw) => (raw.includes("sticker") ? 422 : 200) },
    "wrong",
    ["delivery of an unknown kind"],
  ],
  [
    "reads only bodies declared as JSON",
    { isSigned: (received) => received.header("content-type").includes("json") && RIGHT.isSigned(received) },
    "wrong",
    ["delivery declared as a form, as PHP's curl does"],
  ],
  [
    "fails on text beyond ASCII",
    {
      isToken: (token) => isAscii(token) && RIGHT.isToken(token),
      isSigned: (received) => isAscii(received.header("x-hub-signature-256")) && RIGHT.isSigned(received),
    },
    "wrong",
    [...BAD_TOKENS.filter((name) => name.includes("wrong")), "signature with a letter beyond ASCII"],
  ],
  [
    "has a limit of 100 KB",
    { take: (raw) => (raw.length > 100_000 ? 413 : 200) },
    "wrong",
    ["delivery of 1 MiB"],
  ],
  [
    "rejects repeated deliveries",
    {
      take: (raw) => {
        const isNew = !seen.has(raw.toString("base64"));
        seen.add(raw.toString("base64"));
        return isNew ? 200 : 409;
      },
    },
    "wrong",
    ["the same delivery twice", "delivery signed with an earlier key"],
  ],
])("an endpoint that %s fails the checks of that step, and no others", async (_, mistake, result, names) => {
  const failed = await check(await start(mistake));
  expect(failed.map((one) => [one.result, one.name])).toEqual(names.map((name) => [result, name]));
  for (const { hint } of failed) expect(hint).toMatch(/\w/);
});

const isParsedSigned = ({ raw, header }: Received): boolean =>
  raw.length > 0 &&
  isSignatureOf(JSON.stringify(JSON.parse(raw.toString("utf8"))), header("x-hub-signature-256"));

test("an endpoint that signs the JSON that it has parsed is wrong, and unsafe", async () => {
  expect(
    (await check(await start({ isSigned: isParsedSigned }))).map(({ result, name }) => [result, name]),
  ).toEqual([
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
  expect(JSON.stringify(failed)).not.toContain(verificationKey);
});
