import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createRedactor, quote } from "../../../provider/lib/redact.js";
import { findSecrets, SPELLINGS } from "../../support/secrets.js";

const KEY = "vk/acme+test=&<secret>\"ü'-0123456789";

const redact = (text: string, ...secrets: string[]): string => createRedactor(secrets)(text);

/** The milliseconds that this thread works: what else the machine does is not counted. At least 10: the clock has steps. */
function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return Math.max(10, (user + system) / 1000);
}

test.each(Object.entries(SPELLINGS))("takes a secret out that is written %s; the rest stays", (_, spell) => {
  const clean = redact(`a ${spell(KEY)} z`, KEY);
  expect(findSecrets(clean, [KEY])).toEqual([]);
  // Of base64 within a longer one, what is beside it stays.
  expect(clean).toMatch(/^a \S{0,12}\[redacted\]\S{0,12} z$/);
});

const LONG = randomBytes(500).toString("base64url");

test.each<[string, string, string[], string]>([
  ["another text, which stays as it is", "nothing here", ["", "secret"], "nothing here"],
  ["a text without secrets", "nothing here", [], "nothing here"],
  ["an empty text", "", ["secret"], ""],
  ["two secrets that begin alike", "abc abcdef", ["abc", "abcdef"], "[redacted] [redacted]"],
  ["secrets that overlap", "abcdef", ["abcd", "cdef"], "[redacted]"],
  ["a secret at both ends", "secret and secret", ["secret"], "[redacted] and [redacted]"],
  ["a long secret", `<${LONG}>`, [LONG], "<[redacted]>"],
  ["a long part of it", `<${LONG.slice(0, 64)}>`, [LONG], "<[redacted]>"],
  ["a secret of pattern characters", "a.*b axxb", ["a.*b"], "[redacted] axxb"],
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

test("shows nothing of what it cannot redact, and does not throw", () => {
  expect(redact(null as unknown as string, KEY)).toBe("[redacted]");
});

test("redacts before a quote is cut, so that no half of a secret is left", () => {
  expect(quote(`${"x".repeat(490)}${KEY}`, [KEY])).toBe(`${"x".repeat(490)}[redacted]`);
});

describe("2,000 secrets", () => {
  const sets: [string, (index: number) => string][] = [
    ["random", () => randomBytes(32).toString("base64url")],
    ["with one beginning", (index) => `apichat-key-${String(index).padStart(31, "0")}`],
    ["with one end", (index) => `${index}${"0".repeat(40)}`],
    ["each longer than the one before", (index) => `${"a".repeat(index % 100)}b${index}`],
  ];

  test.each(sets)(
    "%s: all are taken out, and neither they nor the text make a place dearer",
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
        // 16 times the text: 256 times the work where each place looks at the rest of it.
        expect(longMs).toBeLessThan(100 * cpuMsOf(() => redactAll(short)));
        // Ten times the keys.
        expect(longMs).toBeLessThan(5 * cpuMsOf(() => redactTenth(long)));
      }
    },
  );
});
