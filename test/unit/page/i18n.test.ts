import { expect, it } from "vitest";
import { TEXTS } from "../../../provider/emulator/page/i18n/texts.ts";
import { fillIn, pickLanguage } from "../../../provider/emulator/page/i18n/translate.ts";

const parametersOf = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();

it("has every text in both languages, with the same parameters", () => {
  for (const [key, [english, portuguese]] of Object.entries(TEXTS)) {
    for (const text of [english, portuguese]) expect(text.trim(), key).not.toBe("");
    expect(parametersOf(portuguese), key).toEqual(parametersOf(english));
  }
});

it("puts values in, and does not look into them", () => {
  expect(fillIn("{a} of {b}", { a: "{b}", b: 2 })).toBe("{b} of 2");
  expect(fillIn("{a}", { a: "$&" })).toBe("$&");
});

it.each([
  [null, ["pt-BR", "en"], "pt-BR"],
  [null, ["pt-PT"], "pt-BR"],
  [null, ["de", "PT-br", "en"], "pt-BR"],
  [null, ["de", "fr"], "en"],
  [null, [], "en"],
  [null, ["en-GB", "pt-BR"], "en"],
  ["en", ["pt-BR"], "en"],
  ["pt-BR", ["en"], "pt-BR"],
  ["nonsense", ["pt-BR"], "pt-BR"],
] as const)("with %j chosen and %j wanted shows %s", (chosen, wanted, language) => {
  expect(pickLanguage(chosen, wanted)).toBe(language);
});
