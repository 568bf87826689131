import { expect, it } from "vitest";
import { visibleText } from "../../../provider/emulator/page/visible-text.ts";

it.each([
  ["photo_\u202Egpj.exe", "photo_⟨U+202E⟩gpj.exe"],
  ["\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"],
  ["a\u0000\u001b[31m\u007f\u009b", "a⟨U+0000⟩⟨U+001B⟩[31m⟨U+007F⟩⟨U+009B⟩"],
  ["a\r\nb", "a⟨U+000D⟩\nb"],
  ["\uFEFFa\u2028", "⟨U+FEFF⟩a⟨U+2028⟩"],
])("shows what hides in %j", (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it.each(["Olá, tudo bem?\n\tSim", "👩‍👩‍👧", "می‌خواهم", "שלום\u200f!", "<b>&amp;</b>"])(
  "leaves %j as it is",
  (text) => {
    expect(visibleText(text)).toBe(text);
  },
);
