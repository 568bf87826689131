import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signBody, verifySignature } from "../../../provider/responder/signature.js";

const KEY = "a key of the workspace acme";
const BODY = '{"sender_id":"7","text":"caf\\u00e9 \\/ ok"}';
const LARGE = "x".repeat(1024 * 1024);

const fill = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);
const countUp = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index + 1);
const reference = (key: string | Uint8Array, body: string | Uint8Array): string =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

/** RFC 4231, test cases 1 to 4, 6 and 7; case 5 is of a truncated digest. */
const RFC_4231: [key: string | Uint8Array, body: string | Uint8Array, mac: string][] = [
  [fill(0x0b, 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"],
  [
    "Jefe",
    "what do ya want for nothing?",
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  [fill(0xaa, 20), fill(0xdd, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"],
  [countUp(25), fill(0xcd, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"],
  [
    fill(0xaa, 131),
    "Test Using Larger Than Block-Size Key - Hash Key First",
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  ],
  [
    fill(0xaa, 131),
    "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
  ],
];

const BODIES: [name: string, body: string | Uint8Array][] = [
  ["an empty body", ""],
  ["no bytes at all", new Uint8Array()],
  ["JSON as PHP writes it", BODY],
  ["UTF-8 beyond the basic plane", "olá, 世界 🎉"],
  ["a lone surrogate", "a\ud800b"],
  ["bytes that are not UTF-8", Uint8Array.of(0xff, 0xfe, 0x00, 0x80)],
  ["a view into a larger buffer", new TextEncoder().encode(`--${BODY}--`).subarray(2, -2)],
  ["1 MiB", LARGE],
];

const good = reference(KEY, BODY);
const hex = good.slice("sha256=".length);

/** What no header can bring; texts are in the contract of all runtimes (test/contract/cases/signatures.ts). */
const JUNK: [name: string, signature: unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["a number", 256],
  ["an object that turns into the signature", { toString: () => good }],
  ["a list with the signature", [good]],
  ["white space before it", ` ${good}`],
  ["a line feed after it", `${good}\n`],
  ["full-width digits", `sha256=${"\uff10".repeat(64)}`],
  ["upper-case digits", `sha256=${hex.toUpperCase()}`],
  ["63 digits", good.slice(0, -1)],
];

/** The cases that hold for the HMAC of every runtime: `#hmac` decides which one is meant. */
export function describeSignatureContract(hmac: string): void {
  describe(`signatures with ${hmac}`, () => {
    it.each(RFC_4231)("reproduces RFC 4231 (%#)", async (key, body, mac) => {
      expect(await signBody(key, body)).toBe(`sha256=${mac}`);
      expect(await verifySignature({ verificationKeys: key, body, signature: `sha256=${mac}` })).toBe(true);
    });

    it.each(BODIES)("signs and verifies %s", async (_name, body) => {
      const signature = await signBody(KEY, body);
      expect(signature).toBe(reference(KEY, body));
      expect(await verifySignature({ verificationKeys: KEY, body, signature })).toBe(true);
    });

    it.each(JUNK)("refuses %s as a signature", async (_name, signature) => {
      expect(await verifySignature({ verificationKeys: KEY, body: BODY, signature })).toBe(false);
    });

    it("refuses a signature with any one digit changed", async () => {
      for (let index = 0; index < hex.length; index++) {
        const digit = hex[index] === "0" ? "1" : "0";
        const signature = `sha256=${hex.slice(0, index)}${digit}${hex.slice(index + 1)}`;
        expect(await verifySignature({ verificationKeys: KEY, body: BODY, signature })).toBe(false);
      }
    });

    it("refuses the signature of another body, and of another key", async () => {
      expect(await verifySignature({ verificationKeys: KEY, body: `${BODY} `, signature: good })).toBe(false);
      expect(await verifySignature({ verificationKeys: `${KEY} `, body: BODY, signature: good })).toBe(false);
    });

    it("takes the same key as text and as bytes", async () => {
      const key = "clé 🔑";
      const bytes = new TextEncoder().encode(key);
      const signature = await signBody(key, BODY);
      expect(await signBody(bytes, BODY)).toBe(signature);
      expect(await verifySignature({ verificationKeys: bytes, body: BODY, signature })).toBe(true);
    });

    it("tells a key of text from bytes that are written like it", async () => {
      expect(await signBody("49", BODY)).toBe(reference("49", BODY));
      expect(await signBody(Uint8Array.of(49), BODY)).toBe(reference("1", BODY));
    });

    it("sees when the bytes of a key change in place", async () => {
      const key = fill(1, 32);
      await signBody(key, BODY);
      key.fill(2);
      expect(await signBody(key, BODY)).toBe(reference(fill(2, 32), BODY));
    });

    it("signs with the first of several keys and verifies with all of them", async () => {
      const keys = ["new", new TextEncoder().encode("old"), "older"];
      expect(await signBody(keys, BODY)).toBe(reference("new", BODY));
      for (const key of ["new", "old", "older"]) {
        const signature = reference(key, BODY);
        expect(await verifySignature({ verificationKeys: keys, body: BODY, signature })).toBe(true);
      }
      const foreign = reference("foreign", BODY);
      expect(await verifySignature({ verificationKeys: keys, body: BODY, signature: foreign })).toBe(false);
    });

    it("still knows its keys after more keys than it keeps", async () => {
      for (let index = 0; index < 1100; index++) await signBody(`key ${index}`, "");
      expect(await signBody("key 0", BODY)).toBe(reference("key 0", BODY));
    });

    it.each([
      ["an empty key", ""],
      ["empty bytes", new Uint8Array()],
      ["no key", []],
      ["an empty key among others", ["a", ""]],
    ])("rejects with a TypeError for %s", async (_name, key) => {
      await expect(signBody(key, BODY)).rejects.toThrow(TypeError);
      await expect(verifySignature({ verificationKeys: key, body: BODY, signature: good })).rejects.toThrow(
        TypeError,
      );
    });

    it("rejects with a hint when the body was parsed already", async () => {
      const body: string = JSON.parse(BODY);
      await expect(verifySignature({ verificationKeys: KEY, body, signature: good })).rejects.toThrow(/raw/);
    });
  });
}
