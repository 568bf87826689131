import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createRedactor, quote } from "../../../provider/lib/redact.js";
import { cpuMsOf } from "../../support/cpu.js";
import { findSecrets, SPELLINGS } from "../../support/secrets.js";

const KEY = "vk/acme+test=&<secret>\"ü'-0123456789";

const redact = (text: string, ...secrets: string[]): string => createRedactor(secrets)(text);

test.each(Object.entries(SPELLINGS))("removes a secret written %s, and keeps the rest", (_, spell) => {
  const clean = redact(`a ${spell(KEY)} z`, KEY);
  expect(findSecrets(clean, [KEY])).toEqual([]);
  // If the secret is only part of a longer Base64 text, the characters around it stay.
  expect(clean).toMatch(/^a \S{0,12}\[redacted\]\S{0,12} z$/);
});

const LONG = randomBytes(500).toString("base64url");

test.each<[string, string, string[], string]>([
  ["nothing in a text that contains none of the secrets", "nothing here", ["", "secret"], "nothing here"],
  ["nothing if there are no secrets", "nothing here", [], "nothing here"],
  ["nothing in an empty text", "", ["secret"], ""],
  ["two secrets with a common prefix", "abc abcdef", ["abc", "abcdef"], "[redacted] [redacted]"],
  ["secrets that overlap", "abcdef", ["abcd", "cdef"], "[redacted]"],
  ["a secret at both ends", "secret and secret", ["secret"], "[redacted] and [redacted]"],
  ["a long secret", `<${LONG}>`, [LONG], "<[redacted]>"],
  ["a text that is cut off within a long secret", `<${LONG.slice(0, 64)}>`, [LONG], "<[redacted]>"],
  ["a secret with special characters of regular expressions", "a.*b axxb", ["a.*b"], "[redacted] axxb"],
  ...["a\ud800bcdefgh", "key-😀-0123", "back\\slash\\0123", "\\".repeat(40)].flatMap((secret) =>
    [secret, JSON.stringify(secret).slice(1, -1)].map((echoed): [string, string, string[], string] => [
      `a secret as ${echoed}`,
      `<${echoed}>`,
      [secret],
      "<[redacted]>",
    ]),
  ),
])("redacts %s", (_, text, secrets, clean) => {
  expect(redact(text, ...secrets)).toBe(clean);
});

test("hides a value that is not a string, and does not throw", () => {
  expect(redact(null as unknown as string, KEY)).toBe("[redacted]");
});

test("redacts before it shortens a quote, so no part of a secret is left", () => {
  expect(quote(`${"x".repeat(490)}${KEY}`, [KEY])).toBe(`${"x".repeat(490)}[redacted]`);
});

test.each<[string, (index: number) => string]>([
  ["random", () => randomBytes(32).toString("base64url")],
  ["with a common prefix", (index) => `apichat-key-${String(index).padStart(31, "0")}`],
  ["with a common suffix", (index) => `${index}${"0".repeat(40)}`],
  ["of increasing length", (index) => `${"a".repeat(index % 100)}b${index}`],
])(
  "the time for redaction grows linearly with the text, and hardly with the number of secrets: %s",
  (_name, keyOf) => {
    const keys = Array.from({ length: 2000 }, (_, index) => keyOf(index));
    const redactAll = createRedactor(keys);
    expect(redactAll(keys.join(" "))).toBe(Array(2000).fill("[redacted]").join(" "));
    const redactTenth = createRedactor(keys.slice(0, 200));
    const nearly = keys[1999]?.slice(0, -1) ?? "";
    for (const piece of ["apichat-key-", "apichat-key-00000000000", "a", "aaaaaaac", "0", nearly]) {
      const textOf = (length: number): string => piece.repeat(Math.ceil(length / piece.length));
      const [short, long] = [textOf(2 ** 13), textOf(2 ** 17)];
      const longMs = cpuMsOf(() => redactAll(long));
      // The text is 16 times as long; scanning its rest at each position would take 256 times the work.
      expect(longMs).toBeLessThan(100 * cpuMsOf(() => redactAll(short)));
      // redactTenth has only a tenth of the keys.
      expect(longMs).toBeLessThan(5 * cpuMsOf(() => redactTenth(long)));
    }
  },
);
