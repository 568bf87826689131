import { createHmac } from "node:crypto";
import { Webhooks } from "@octokit/webhooks";
import { expect, it } from "vitest";
import { signBody, verifySignature } from "../../../provider/responder/index.js";

// test/contract/cases/signatures.ts tests the signature's header and, in workerd, WebCrypto.

const KEY = "a key that others sign with, and é";
const FOREIGN_KEY = "the key of somebody else";
const BODY = '{"sender_id":"7","text":"caf\\u00e9 \\/ ok"}';

const reference = (key: string | Uint8Array, body: string | Uint8Array): string =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

const verify = (
  verificationKeys: Parameters<typeof signBody>[0],
  signature: unknown,
  body: string | Uint8Array = BODY,
): Promise<boolean> => verifySignature({ verificationKeys, body, signature });

it.each([BODY, '{"text":"olá, 世界 🎉"}', "a\ud800b", "no JSON at all", "x".repeat(1024 * 1024)])(
  "octokit verifies what signBody signs, and signs what verifySignature verifies (%#)",
  async (body) => {
    const octokit = new Webhooks({ secret: KEY });
    expect(await octokit.verify(body, await signBody(KEY, body))).toBe(true);
    expect(await octokit.verify(`${body} `, await signBody(KEY, body))).toBe(false);
    const signature = await octokit.sign(body);
    expect(await verify([FOREIGN_KEY, KEY], signature, body)).toBe(true);
    expect(await verify(FOREIGN_KEY, signature, body)).toBe(false);
  },
);

it.each([
  ["an empty text", ""],
  ["an empty byte array", new Uint8Array()],
  ["bytes that are not UTF-8", Uint8Array.of(0xff, 0xfe, 0x00, 0x80)],
  ["a view into a larger buffer", new TextEncoder().encode(`--${BODY}--`).subarray(2, -2)],
])("signs and verifies %s", async (_name, body) => {
  const signature = await signBody(KEY, body);
  expect(signature).toBe(reference(KEY, body));
  expect(await verify(KEY, signature, body)).toBe(true);
});

it("accepts only a string in the exact format as a signature", async () => {
  const good = reference(KEY, BODY);
  const junk = [undefined, null, 256, { toString: () => good }, [good], ` ${good}`, `${good}\n`];
  const altered = [good.replace("sha", "SHA"), good.replace("=", "= "), good.replace(/..$/, "zz"), ""];
  for (const one of [...junk, ...altered, `sha256=${"\uff10".repeat(64)}`, good.slice(0, -1)])
    expect([one, await verify(KEY, one)]).toEqual([one, false]);
  expect(await verify(KEY, good)).toBe(true);
});

it('accepts a key as text or bytes; the text "49" is not the byte 49', async () => {
  const bytes = new TextEncoder().encode("clé 🔑");
  const signature = await signBody("clé 🔑", BODY);
  expect(await signBody(bytes, BODY)).toBe(signature);
  expect(await verify(bytes, signature)).toBe(true);
  expect(await signBody("49", BODY)).toBe(reference("49", BODY));
  expect(await signBody(Uint8Array.of(49), BODY)).toBe(reference("1", BODY));
});

it("signs with the first of several keys, and verifies with all of them", async () => {
  const keys = ["new", new TextEncoder().encode("old"), "older"];
  expect(await signBody(keys, BODY)).toBe(reference("new", BODY));
  const signers = ["new", "old", "older", "foreign"];
  const verdicts = await Promise.all(signers.map((key) => verify(keys, reference(key, BODY))));
  expect(verdicts).toEqual([true, true, true, false]);
});

it.each([[""], [new Uint8Array()], [[]], [["a", ""]]])("rejects the key %j with a TypeError", async (key) => {
  await expect(signBody(key, BODY)).rejects.toThrow(TypeError);
  await expect(verify(key, reference(KEY, BODY))).rejects.toThrow(TypeError);
});

it("rejects a parsed body, with a hint", async () => {
  await expect(verify(KEY, reference(KEY, BODY), JSON.parse(BODY) as string)).rejects.toThrow(/raw/);
});
