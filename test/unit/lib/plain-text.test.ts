import { expect, test } from "vitest";
import { toJsonLine, toPlainText, toShortText } from "../../../provider/lib/plain-text.js";

const HOSTILE = "a\u001b[31m\u009b2J\r\n\u2028\u202etxt.exe\ud800";

test("an untrusted text stays unchanged, whatever its language", () => {
  expect(toPlainText("Olá, 你好, שלום 👩‍👩‍👧")).toBe("Olá, 你好, שלום 👩‍👩‍👧");
});

test("an untrusted text is shortened between characters, with an ellipsis", () => {
  expect(toShortText("👍👍👍", 2)).toBe("👍👍…");
  expect(toShortText("👍👍", 2)).toBe("👍👍");
});

test("an untrusted text becomes one line of parsable JSON without control characters", () => {
  const line = toJsonLine({ text: HOSTILE });
  expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Zl}\p{Bidi_Control}]/u);
  expect(JSON.parse(line)).toEqual({ text: HOSTILE });
});
