import { expect, it } from "vitest";
import { fillIn } from "../../../provider/emulator/page/i18n/dictionary.ts";
import { en } from "../../../provider/emulator/page/i18n/en.ts";
import { pickLanguage } from "../../../provider/emulator/page/i18n/language.ts";
import { ptBr } from "../../../provider/emulator/page/i18n/pt-br.ts";

const keys = Object.keys(en) as (keyof typeof en)[];

const parametersOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).toSorted();

it("has the same texts in both languages, none of them empty", () => {
  expect(Object.keys(ptBr).toSorted()).toEqual(keys.toSorted());
  for (const dictionary of [en, ptBr]) {
    for (const text of Object.values(dictionary)) expect(text.trim()).not.toBe("");
  }
});

it("has the same parameters in both languages", () => {
  const differing = keys.filter((key) => parametersOf(ptBr[key]).join() !== parametersOf(en[key]).join());
  expect(differing).toEqual([]);
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
