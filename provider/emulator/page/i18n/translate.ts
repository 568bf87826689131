import { effect, signal } from "@preact/signals";
import { fillIn, type Dictionary, type TextArguments, type TextKey } from "./dictionary.js";
import { en } from "./en.js";
import { pickLanguage, type Language } from "./language.js";
import { ptBr } from "./pt-br.js";
import { recall, remember } from "../remembered.js";

const DICTIONARIES: Readonly<Record<Language, Dictionary>> = { en, "pt-BR": ptBr };

/** The language that the page is shown in. */
export const language = signal<Language>(pickLanguage(recall("language"), navigator.languages));

/** Keeps title and language of the document with what is chosen. */
export function followLanguage(): void {
  effect(() => {
    document.documentElement.lang = language.value;
    document.title = t("app.title");
  });
}

/** Shows the page in another language, also next time. */
export function chooseLanguage(chosen: Language): void {
  language.value = chosen;
  remember("language", chosen);
}

/** The text in the language of the page; what shows it is drawn anew when the language changes. */
export function t<Key extends TextKey>(key: Key, ...[values]: TextArguments<Key>): string {
  return fillIn(DICTIONARIES[language.value][key], values);
}

/** A time of day to the millisecond, as the language writes it. */
export function timeOf(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return t("app.unreadable");
  return new Intl.DateTimeFormat(language.value, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    hour12: false,
  }).format(date);
}

/** A time of day to the minute. */
export function clockOf(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return t("app.unreadable");
  return new Intl.DateTimeFormat(language.value, { hour: "2-digit", minute: "2-digit" }).format(date);
}
