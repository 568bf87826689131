import { effect, signal } from "@preact/signals";
import { PORTUGUESE } from "./portuguese.js";

/** The languages of the page by their tag (BCP 47). */
export const LANGUAGES = ["en", "pt-BR"] as const;

type Language = (typeof LANGUAGES)[number];

/** A text of the page, in English. */
type PageText = keyof typeof PORTUGUESE;

type ParametersIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersIn<Rest>
  : never;

type Values<Text> = Readonly<Record<ParametersIn<Text>, string | number>>;

const STORAGE_KEY = "apichat-emulator:language";

/** The language of the page. */
export const language = signal<Language>("en");

/** Picks the language, and keeps language and title of the document up to date. */
export function followLanguage(): void {
  const remembered = withStorage((storage) => storage.getItem(STORAGE_KEY));
  language.value = pickLanguage([remembered ?? "", ...navigator.languages]);
  effect(() => {
    document.documentElement.lang = language.value;
    document.title = t("API Channel emulator");
  });
}

/** Shows the page in another language, including on the next visit. */
export function chooseLanguage(chosen: Language): void {
  language.value = chosen;
  withStorage((storage) => storage.setItem(STORAGE_KEY, chosen));
}

/** The first of the wanted languages that the page has, in any of its regions; English if it has none of them. */
function pickLanguage(wanted: readonly string[]): Language {
  const tags = wanted.map((tag) => LANGUAGES.find((own) => primaryOf(own) === primaryOf(tag)));
  return tags.find((tag) => tag !== undefined) ?? "en";
}

const primaryOf = (tag: string): string | undefined => tag.toLowerCase().split("-")[0];

/** A browser that blocks storage throws on first use: the page then forgets the language, which harms nothing. */
function withStorage<Result>(use: (storage: Storage) => Result): Result | undefined {
  try {
    return use(localStorage);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

/** The text in the language of the page. Components that show it are rendered again when the language changes. */
export function t<Text extends PageText>(
  text: Text,
  ...[values]: [ParametersIn<Text>] extends [never] ? [] : [values: Values<Text>]
): string {
  const translated = language.value === "en" ? text : PORTUGUESE[text];
  const known: Readonly<Record<string, string | number>> = values ?? {};
  // In one pass: a `{parameter}` inside a value is not replaced.
  return translated.replaceAll(/\{(\w+)\}/g, (parameter, name: string) =>
    (known[name] ?? parameter).toLocaleString(language.value),
  );
}

/** Every time of the page has 24 hours: those of the chat are looked up on the wire. */
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;

/** A time of day to the minute. */
export const clockOf = (iso: string): string => formatTime(iso, CLOCK);

/** A time of day to the millisecond. */
export const timeOf = (iso: string): string =>
  formatTime(iso, { ...CLOCK, second: "2-digit", fractionalSecondDigits: 3 });

/** With the date, unless that is today. */
function formatTime(iso: string, format: Intl.DateTimeFormatOptions): string {
  const date = new Date(iso);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Intl.DateTimeFormat(language.value, { ...day, ...format }).format(date);
}
