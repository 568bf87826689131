import { effect, signal } from "@preact/signals";
import { TEXTS } from "./texts.js";

/** The languages of the page by their tag (BCP 47), in the order of the texts. */
export const LANGUAGES = ["en", "pt-BR"] as const;

export type Language = (typeof LANGUAGES)[number];

export type TextKey = keyof typeof TEXTS;

type ParametersIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersIn<Rest>
  : never;

/** The values for the `{parameters}` of a text. They are required if the text has any. */
type TextArguments<Key extends TextKey> = [ParametersIn<(typeof TEXTS)[Key][0]>] extends [never]
  ? []
  : [values: Readonly<Record<ParametersIn<(typeof TEXTS)[Key][0]>, string | number>>];

const STORAGE_KEY = "apichat-emulator:language";

/** The language of the page. */
export const language = signal<Language>("en");

/** Picks the language, and keeps language and title of the document up to date. */
export function followLanguage(document: { title: string; documentElement: { lang: string } }): void {
  const remembered = withStorage((storage) => storage.getItem(STORAGE_KEY));
  language.value = pickLanguage(remembered ?? null, navigator.languages);
  effect(() => {
    document.documentElement.lang = language.value;
    document.title = t("app.title");
  });
}

/** Shows the page in another language, also on the next visit. */
export function chooseLanguage(chosen: Language): void {
  language.value = chosen;
  withStorage((storage) => storage.setItem(STORAGE_KEY, chosen));
}

/** The language chosen before, else the first one that the browser asks for and the page has, else English. */
function pickLanguage(chosen: string | null, wanted: readonly string[]): Language {
  const primaries = [chosen ?? "", ...wanted].map(primaryOf);
  const match = primaries.find((primary) => LANGUAGES.some((tag) => primaryOf(tag) === primary));
  return LANGUAGES.find((tag) => primaryOf(tag) === match) ?? "en";
}

const primaryOf = (tag: string): string => tag.toLowerCase().split("-")[0] ?? "";

/** A browser that blocks storage throws on first use: the page then forgets the language, which harms nothing. */
function withStorage<Result>(use: (storage: Storage) => Result): Result | undefined {
  try {
    return use(localStorage);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

/** The text in the language of the page. What shows it is drawn again when the language changes. */
export function t<Key extends TextKey>(key: Key, ...[values]: TextArguments<Key>): string {
  return fillIn(TEXTS[key][LANGUAGES.indexOf(language.value)] ?? key, values);
}

/** Puts the values in place of the `{parameters}`. A `{parameter}` inside a value is not replaced. */
function fillIn(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  return text.replaceAll(/\{(\w+)\}/g, (parameter, name: string) => String(values[name] ?? parameter));
}

/** A time of day to the minute. */
export const clockOf = (iso: string): string => formatTime(iso, { hour: "2-digit", minute: "2-digit" });

/** A time of day to the millisecond. */
export const timeOf = (iso: string): string =>
  formatTime(iso, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    hour12: false,
  });

function formatTime(iso: string, format: Intl.DateTimeFormatOptions): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return t("app.unreadable");
  return new Intl.DateTimeFormat(language.value, format).format(date);
}
