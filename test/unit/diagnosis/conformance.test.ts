import { createHmac } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { checkEndpoint } from "../../../provider/diagnosis/index.js";
import { createResponder } from "../../../provider/responder/index.js";
import { toNodeListener } from "../../../provider/responder/node.js";
import vectors from "../../../schema/vectors.json" with { type: "json" };
import { type Received, startListener, startServer } from "../../support/http.ts";
import { encodingOf, parametersOf } from "./harness.ts";

const verificationKey = "the-key-of-this-endpoint";
const earlierKey = "the-key-that-it-had-before";
const ACCEPTED = [verificationKey, earlierKey];

/** The steps in which an endpoint handles a request. A broken endpoint gets some of them wrong. */
interface Steps {
  parameters: (request: Received) => Record<string, unknown>;
  isToken: (token: string) => boolean;
  challenge: (challenge: string) => string;
  isSigned: (signature: string, raw: Buffer) => boolean;
  take: (raw: Buffer) => number;
}

const hmacOf = (key: string, body: string | Buffer): string =>
  createHmac("sha256", key).update(body).digest("hex");
const isSignatureOf = (body: string | Buffer, signature: string, keys = ACCEPTED): boolean =>
  keys.some((key) => signature === `sha256=${hmacOf(key, body)}`);
const signatureOf = ({ headers }: Received): string => String(headers["x-hub-signature-256"] ?? "");

const RIGHT: Steps = {
  parameters: (request) =>
    request.body === "" && encodingOf(request) !== "query" ? {} : parametersOf(request),
  isToken: (token) => ACCEPTED.includes(token),
  challenge: (challenge) => challenge,
  isSigned: (signature, raw) => isSignatureOf(raw, signature),
  take: () => 200,
};

function answer(steps: Steps, request: Received): [status: number, body?: string] {
  const { hub_mode, hub_verify_token, hub_challenge } = steps.parameters(request);
  if (hub_mode === undefined)
    return [steps.isSigned(signatureOf(request), request.bytes) ? steps.take(request.bytes) : 401];
  const isHandshake =
    hub_mode === "subscribe" && typeof hub_verify_token === "string" && typeof hub_challenge === "string";
  return isHandshake && steps.isToken(hub_verify_token) ? [200, steps.challenge(hub_challenge)] : [401];
}

/** Starts an endpoint that makes these mistakes, and returns the checks that it fails. */
async function checkWith(mistakes: Partial<Steps>) {
  const { url } = await startServer((request, response) => {
    try {
      const [status, body] = answer({ ...RIGHT, ...mistakes }, request);
      response.writeHead(status).end(body);
    } catch {
      response.writeHead(500).end();
    }
  });
  return check(url);
}

/** A mistake: the endpoint throws for these requests instead of reading their parameters. */
const readUnless = (isUnreadable: (request: Received) => boolean): Partial<Steps> => ({
  parameters: (request) => {
    if (isUnreadable(request)) throw new Error("not readable");
    return RIGHT.parameters(request);
  },
});

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

test('a late response gets the result "wrong", even if its content is correct', async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const failed = await checkWith(
    readUnless(() => {
      vi.advanceTimersByTime(5_000);
      return false;
    }),
  );
  expect(failed).toHaveLength(vectors.handshakes.length + vectors.deliveries.length);
  expect(new Set(failed.map(({ result, rule }) => `${result} ${rule}`))).toEqual(new Set(["wrong 8"]));
  expect(failed[0]?.response).toMatch(/^HTTP 200 after \d+\.\d s$/);
});

const base64Of = (raw: Buffer): string => createHmac("sha256", verificationKey).update(raw).digest("base64");

test("if a plain delivery fails, every failed delivery gets the same hint", async () => {
  const failed = await checkWith({ isSigned: (signature, raw) => signature === `sha256=${base64Of(raw)}` });
  expect(failed.length).toBeGreaterThan(10);
  expect(new Set(failed.map(({ rule, hint }) => `${rule}: ${hint}`)).size).toBe(1);
});

test("an endpoint that cannot read forms gets the same hint for every form", async () => {
  // FastAPI fails like this if python-multipart, which reads forms, is not installed.
  const failed = await checkWith(
    readUnless((one) => /^(form|multipart)$/.test(encodingOf(one)) && !one.body.startsWith("{")),
  );
  const forms = vectors.handshakes.filter(({ encoding }) => encoding === "form" || encoding === "multipart");
  expect(failed.map(({ name }) => name)).toEqual(forms.map(({ name }) => name));
  expect(new Set(failed.map(({ response, rule }) => `${response}, rule ${rule}`))).toEqual(
    new Set(["HTTP 500, rule 1"]),
  );
  for (const { hint } of failed) expect(hint).toContain("pip install python-multipart");
});

test("the check with the token in a different case is skipped if the key contains no letters", async () => {
  const url = await startResponder("0123456789");
  const checks = await checkEndpoint({ url, verificationKey: "0123456789" });
  expect(checks.filter(({ result, rule }) => result !== "right" && rule !== 6)).toEqual([
    { name: "handshake with the token in a different case", rule: 2, result: "skipped", response: "" },
  ]);
});

test("the hint for a redirected delivery mentions the redirect", async () => {
  const [first] = await checkWith({ take: () => 302 });
  expect(first).toMatchObject({
    name: "delivery: text",
    response: "HTTP 302",
    hint: expect.stringContaining("redirect"),
  });
});

const BAD_TOKENS = vectors.handshakes.filter(({ accepted, name }) => !accepted && name.includes(" token"));
const A_SIGNED_HANDSHAKE = "signed delivery with the fields of a handshake and a wrong token";
const namesOf = (list: readonly { name: string }[]): string[] => list.map(({ name }) => name);

/** A mistake: the endpoint accepts every token for which this condition holds. */
const trustIf = (isTrusted: (token: unknown, request: Received) => boolean): Partial<Steps> => ({
  parameters: (request) => {
    const given = RIGHT.parameters(request);
    const isReplaced = "hub_mode" in given && isTrusted(given["hub_verify_token"], request);
    return isReplaced ? { ...given, hub_verify_token: verificationKey } : given;
  },
});

const seen = new Set<string>();

/** An endpoint that makes one mistake, and the checks that it fails. */
type Mistake = [name: string, mistake: Partial<Steps>, failed: string[]];

const UNSAFE: Mistake[] = [
  ["accepts every token", { isToken: () => true }, [...namesOf(BAD_TOKENS), A_SIGNED_HANDSHAKE]],
  [
    "trims a token",
    { isToken: (token) => ACCEPTED.includes(token.trim()) },
    ["handshake with spaces around the token"],
  ],
  [
    "accepts the boolean true as a token, as == does in PHP",
    trustIf((token) => token === true),
    ["handshake with the boolean true as hub_verify_token"],
  ],
  [
    "accepts a signature instead of a token",
    trustIf((_, request) => isSignatureOf(request.bytes, signatureOf(request))),
    [A_SIGNED_HANDSHAKE],
  ],
  [
    "never checks signatures",
    { isSigned: () => true },
    namesOf(vectors.deliveries.filter(({ accepted, name }) => !accepted && name !== A_SIGNED_HANDSHAKE)),
  ],
  [
    "checks a signature only if there is one",
    { isSigned: (signature, raw) => signature === "" || isSignatureOf(raw, signature) },
    ["delivery without a signature", "empty body without a signature", "signature in another header"],
  ],
  [
    "ignores the signature's prefix",
    { isSigned: (signature, raw) => isSignatureOf(raw, signature.replace(/^(\w+=)?/, "sha256=")) },
    ["signature without its prefix", "signature with the prefix of another algorithm"],
  ],
  [
    "accepts a signature that is cut short",
    {
      isSigned: (signature, raw) =>
        signature !== "" && ACCEPTED.some((key) => `sha256=${hmacOf(key, raw)}`.startsWith(signature)),
    },
    ["signature with nothing after its prefix", "signature cut short"],
  ],
  [
    "accepts a signature made with an empty key",
    { isSigned: (signature, raw) => isSignatureOf(raw, signature, [...ACCEPTED, ""]) },
    ["delivery signed with an empty key"],
  ],
];

const WRONG: Mistake[] = [
  [
    "rejects a form with a charset",
    readUnless(({ headers }) => /charset/.test(headers["content-type"] ?? "")),
    ["form with a charset in its Content-Type"],
  ],
  [
    "fails on JSON that is declared as a form",
    readUnless((request) => encodingOf(request) === "form" && request.body.startsWith("{")),
    ["delivery declared as a form, as PHP's curl does"],
  ],
  [
    "reads the challenge as a number",
    { challenge: (text) => (/^\d+$/.test(text) ? String(Number(text)) : text) },
    ["challenge of digits"],
  ],
  [
    "reads forms only",
    { parameters: ({ body }) => Object.fromEntries(new URLSearchParams(body)) },
    ["handshake as JSON", "handshake as a multipart form", "handshake in the query"],
  ],
  [
    "knows the current key only",
    {
      isToken: (token) => token === verificationKey,
      isSigned: (signature, raw) => isSignatureOf(raw, signature, [verificationKey]),
    },
    ["handshake with an earlier key", "delivery signed with an earlier key"],
  ],
  ["limits bodies to 100 KB", { take: (raw) => (raw.length > 100_000 ? 413 : 200) }, ["delivery of 1 MiB"]],
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

describe.each([
  ["unsafe", UNSAFE],
  ["wrong", WRONG],
])("an endpoint is %s if it", (result, mistakes) => {
  test.each(mistakes)("%s: only the checks for that mistake fail", async (_, mistake, names) => {
    const failed = await checkWith(mistake);
    expect(failed.map((one) => [one.result, one.name])).toEqual(names.map((name) => [result, name]));
    for (const { hint } of failed) expect(hint).toMatch(/\w/);
  });
});

test("an endpoint that verifies signatures against reserialized JSON is wrong and unsafe", async () => {
  const failed = await checkWith({
    isSigned: (signature, raw) =>
      raw.length > 0 && isSignatureOf(JSON.stringify(JSON.parse(raw.toString("utf8"))), signature),
  });
  expect(failed.map(({ result, name }) => [result, name])).toEqual([
    ["wrong", "delivery with escapes in PHP's style"],
    ["wrong", "delivery with whitespace between its fields"],
    ["wrong", "delivery with a conversation id beyond 2^53"],
    ["unsafe", "delivery whose JSON was signed in another form"],
  ]);
});

test("an endpoint that does not respond fails every check, and the report contains no key", async () => {
  const { url } = await startServer((_, response) => response.destroy());
  const failed = await check(`${url}/?token=${verificationKey}`);
  expect(failed).toHaveLength(vectors.handshakes.length + vectors.deliveries.length);
  expect(new Set(failed.map(({ result }) => result))).toEqual(new Set(["wrong"]));
  expect(failed.at(-1)?.response).toBe("the connection is closed before the answer is complete");
  expect(JSON.stringify(failed)).not.toContain(verificationKey);
});
