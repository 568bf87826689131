import { describe, expect, test } from "vitest";
import { didYouMean } from "../../../provider/lib/checks.js";

const NAMES = ["webhookUrl", "webhookVerificationKey", "baseUrl", "keep"];

describe("a misspelt name", () => {
  test.each([
    ["webhookUlr", "webhookUrl"],
    ["webhookurl", "webhookUrl"],
    ["webhook_url", "webhookUrl"],
    ["webhookVerifcationKeys", "webhookVerificationKey"],
    ["baseURL", "baseUrl"],
    ["kep", "keep"],
  ])("%s is taken for %s", (word, name) => {
    expect(didYouMean(word, NAMES)).toBe(` (did you mean ${name}?)`);
  });

  test.each(["", "url", "help", "retries", "x".repeat(10_000)])("%.10s is taken for none", (word) => {
    expect(didYouMean(word, NAMES)).toBe("");
  });
});
