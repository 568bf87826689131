import { expect, test } from "vitest";
import { backOffMs, LONGEST_RETRY_AFTER_MS, parseRetryAfter } from "../../../provider/lib/retry.js";

test.each([
  ["7", 7000],
  [" 7 ", 7000],
  ["Thu, 01 Jan 2026 00:00:09 GMT", 9000],
  ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
  ["9".repeat(400), LONGEST_RETRY_AFTER_MS],
  ["Fri, 01 Jan 2100 00:00:00 GMT", LONGEST_RETRY_AFTER_MS],
  ["soon", undefined],
  ["", undefined],
  [undefined, undefined],
])("Retry-After: %.40s is read as %s ms", (value, ms) => {
  expect(parseRetryAfter(value, Date.parse("2026-01-01T00:00:00Z"))).toBe(ms);
});

test.each([
  [1, [250, 500, 1000, 2000, 4000, 8000, 8000]],
  [0, [125, 250, 500, 1000, 2000, 4000, 4000]],
])("the back-off doubles up to eight seconds, with jitter over its upper half (%i)", (random, pauses) => {
  expect([1, 2, 3, 4, 5, 6, 100].map((attempt) => backOffMs(attempt, undefined, () => random))).toEqual(
    pauses,
  );
});
