import { expect, test } from "vitest";
import { didYouMean } from "../../../provider/lib/checks.js";

test.each([
  ["webhookUlr", "webhookUrl"],
  ["webhookurl", "webhookUrl"],
  ["webhook_url", "webhookUrl"],
  ["webhookVerifcationKeys", "webhookVerificationKey"],
  ["baseURL", "baseUrl"],
  ["kep", "keep"],
  ...["", "url", "help", "retries", "x".repeat(10_000)].map((word) => [word]),
])("the misspelt name %.10s is taken for %s", (word, name?: string) => {
  const names = ["webhookUrl", "webhookVerificationKey", "baseUrl", "keep"];
  expect(didYouMean(word, names)).toBe(name === undefined ? "" : ` (did you mean ${name}?)`);
});
