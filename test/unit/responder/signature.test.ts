import { createHmac } from "node:crypto";
import type * as signing from "../../../provider/responder/signature.js";
import { beforeAll, describe, expect, it, vi } from "vitest";

type Signing = typeof signing;

const KEY = "a key of the workspace acme";
const BODY = '{"sender_id":"7","text":"caf\\u00e9 \\/ ok"}';

const reference = (key: string | Uint8Array, body: string | Uint8Array): string =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

const BODIES = {
  "an empty body": "",
  "no bytes at all": new Uint8Array(),
  "JSON as PHP writes it": BODY,
  "UTF-8 beyond the basic plane": "olá, 世界 🎉",
  "a lone surrogate": "a\ud800b",
  "bytes that are not UTF-8": Uint8Array.of(0xff, 0xfe, 0x00, 0x80),
  "a view into a larger buffer": new TextEncoder().encode(`--${BODY}--`).subarray(2, -2),
  "1 MiB": "x".repeat(1024 * 1024),
};

const good = reference(KEY, BODY);
const hex = good.slice("sha256=".length);

/** What no header can bring; texts are in the contract of all runtimes (test/contract/cases/signatures.ts). */
const JUNK = [
  undefined,
  null,
  256,
  { toString: () => good },
  [good],
  ` ${good}`,
  `${good}\n`,
  `sha256=${"\uff10".repeat(64)}`,
  // Only WebCrypto takes bytes, for which these digits would be the same.
  `sha256=${hex.toUpperCase()}`,
  good.slice(0, -1),
];

const RUNTIMES = {
  "node:crypto": () => import("../../../provider/responder/hmac-node.js"),
  WebCrypto: () => import("../../../provider/responder/hmac-web.js"),
};

// The cases that hold for the HMAC of every runtime: `#hmac` decides which one is meant.
describe.each(Object.entries(RUNTIMES))("signatures with %s", (_runtime, loadHmac) => {
  let signBody: Signing["signBody"];
  /** Whether one of the keys has signed. */
  let verify: (
    verificationKeys: Parameters<typeof signBody>[0],
    signature: unknown,
    body?: string | Uint8Array,
  ) => Promise<boolean>;

  beforeAll(async () => {
    vi.resetModules();
    vi.doMock("#hmac", loadHmac);
    const loaded = await import("../../../provider/responder/signature.js");
    signBody = loaded.signBody;
    verify = (verificationKeys, signature, body = BODY) =>
      loaded.verifySignature({ verificationKeys, body, signature });
  });

  it.each(Object.entries(BODIES))("are made and verified of %s", async (_name, body) => {
    const signature = await signBody(KEY, body);
    expect(signature).toBe(reference(KEY, body));
    expect(await verify(KEY, signature, body)).toBe(true);
  });

  it.each(JUNK)("are not %j", async (signature) => {
    expect(await verify(KEY, signature)).toBe(false);
  });

  it("do not verify with any one digit changed, nor of another body or another key", async () => {
    for (let index = 0; index < hex.length; index++) {
      const digit = hex[index] === "0" ? "1" : "0";
      expect(await verify(KEY, `sha256=${hex.slice(0, index)}${digit}${hex.slice(index + 1)}`)).toBe(false);
    }
    expect([await verify(KEY, good, `${BODY} `), await verify(`${KEY} `, good)]).toEqual([false, false]);
  });

  it("take the same key as text and as bytes, and tell text from bytes that are written like it", async () => {
    const bytes = new TextEncoder().encode("clé 🔑");
    const signature = await signBody("clé 🔑", BODY);
    expect(await signBody(bytes, BODY)).toBe(signature);
    expect(await verify(bytes, signature)).toBe(true);
    expect(await signBody("49", BODY)).toBe(reference("49", BODY));
    expect(await signBody(Uint8Array.of(49), BODY)).toBe(reference("1", BODY));
  });

  it("are made with the first of several keys, and verified with all of them", async () => {
    const keys = ["new", new TextEncoder().encode("old"), "older"];
    expect(await signBody(keys, BODY)).toBe(reference("new", BODY));
    const signers = ["new", "old", "older", "foreign"];
    const verdicts = await Promise.all(signers.map((key) => verify(keys, reference(key, BODY))));
    expect(verdicts).toEqual([true, true, true, false]);
  });

  it.each([[""], [new Uint8Array()], [[]], [["a", ""]]])(
    "reject the key %j with a TypeError",
    async (key) => {
      await expect(signBody(key, BODY)).rejects.toThrow(TypeError);
      await expect(verify(key, good)).rejects.toThrow(TypeError);
    },
  );

  it("reject a body that was parsed already, with a hint", async () => {
    await expect(verify(KEY, good, JSON.parse(BODY) as string)).rejects.toThrow(/raw/);
  });
});
