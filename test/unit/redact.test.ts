import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createRedactor, quote } from "../../provider/lib/redact.js";
import { findSecrets, SPELLINGS } from "../support/secrets.js";

const KEY = "vk/acme+test=&<secret>\"ü'-0123456789";

const redact = (text: string, ...secrets: string[]): string => createRedactor(secrets)(text);

/** The milliseconds that this thread works: what else the machine does is not counted. */
function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

test.each(Object.entries(SPELLINGS))("takes a secret out that is written %s; the rest stays", (_, spell) => {
  const clean = redact(`a ${spell(KEY)} z`, KEY);
  expect(findSecrets(clean, [KEY])).toEqual([]);
  // Of base64 within a longer one, what is beside it stays.
  expect(clean).toMatch(/^a \S{0,12}\[redacted\]\S{0,12} z$/);
});

describe("redaction", () => {
  test("skips empty secrets, and leaves other texts as they are", () => {
    expect(redact("nothing here", "", "secret")).toBe("nothing here");
    expect(redact("nothing here")).toBe("nothing here");
    expect(redact("", "secret")).toBe("");
  });

  test("takes out the longer of two secrets that begin alike", () => {
    expect(redact("abc abcdef", "abc", "abcdef")).toBe("[redacted] [redacted]");
  });

  test("takes out secrets that overlap, at both ends of a text too", () => {
    expect(redact("abcdef", "abcd", "cdef")).toBe("[redacted]");
    expect(redact("secret and secret", "secret")).toBe("[redacted] and [redacted]");
  });

  test("takes out all of a long secret, and long parts of it", () => {
    const secret = randomBytes(500).toString("base64url");
    expect(redact(`<${secret}>`, secret)).toBe("<[redacted]>");
    expect(redact(`<${secret.slice(0, 64)}>`, secret)).toBe("<[redacted]>");
  });

  test("takes a secret of pattern characters literally", () => {
    expect(redact("a.*b axxb", "a.*b")).toBe("[redacted] axxb");
  });

  test("takes secrets with a lone surrogate, emoji or backslashes", () => {
    for (const secret of ["a\ud800bcdefgh", "key-😀-0123", "back\\slash\\0123", "\\".repeat(40)]) {
      for (const echoed of [secret, JSON.stringify(secret).slice(1, -1)]) {
        expect(redact(`<${echoed}>`, secret)).toBe("<[redacted]>");
      }
    }
  });

  test("shows nothing of what it cannot redact, and does not throw", () => {
    const text = { length: 1, slice: () => KEY } as unknown as string;
    expect(redact(text, KEY)).toBe("[redacted]");
  });

  test("comes before the cut of a quote, so that no half of a secret is left", () => {
    expect(quote(`${"x".repeat(490)}${KEY}`, [KEY])).toBe(`${"x".repeat(490)}[redacted]`);
  });
});

describe("2,000 secrets", () => {
  const sets: [string, (index: number) => string][] = [
    ["random", () => randomBytes(32).toString("base64url")],
    ["with one beginning", (index) => `apichat-key-${String(index).padStart(31, "0")}`],
    ["with one end", (index) => `${index}${"0".repeat(40)}`],
    ["each longer than the one before", (index) => `${"a".repeat(index % 100)}b${index}`],
  ];

  test.each(sets)(
    "%s: all are taken out, in a time in proportion to the text, whatever that is",
    (_name, keyOf) => {
      const keys = Array.from({ length: 2000 }, (_, index) => keyOf(index));
      const redactAll = createRedactor(keys);
      expect(redactAll(keys.join(" "))).toBe(Array(2000).fill("[redacted]").join(" "));
      const nearly = keys[1999]?.slice(0, -1) ?? "";
      for (const piece of ["apichat-key-", "apichat-key-00000000000", "a", "aaaaaaac", "0", nearly]) {
        const text = piece.repeat(Math.ceil(2 ** 18 / piece.length));
        // Several times what it takes. A search that tries every key, or the rest of the text, at each place takes minutes.
        expect(cpuMsOf(() => redactAll(text))).toBeLessThan(3000);
      }
    },
  );
});
