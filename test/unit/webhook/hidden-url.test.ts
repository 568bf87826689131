import { expect, test } from "vitest";
import { formatHiddenUrl, parseHiddenUrl } from "../../../provider/webhook/hidden-url.ts";

test.each([
  [
    "https://a.example/x?t=one",
    "https://a.example/y?t=two",
    "https://a.example/x?t=***",
    "https://a.example/y?t=***",
  ],
  [
    "https://a.example/x?t=one",
    "https://a.example/x?t=two",
    "https://a.example/x?t=***",
    "https://a.example/x?t=***",
  ],
  [undefined, "https://a.example/x?t=two", "[unknown]", "https://a.example/x?t=***"],
])("the line for %s and %s is read as it was meant", (before, after, from, to) => {
  const line = formatHiddenUrl("webhookUrl", [before, after]);
  expect(parseHiddenUrl(line)).toEqual({ property: "webhookUrl", from, to });
});

test("every other line is none", () => {
  expect(parseHiddenUrl("webhookVerificationKey changes")).toBeUndefined();
});
