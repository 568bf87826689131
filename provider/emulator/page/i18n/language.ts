/** The languages of the page, by their tag (BCP 47). */
export const LANGUAGES = ["en", "pt-BR"] as const;

export type Language = (typeof LANGUAGES)[number];

/** The language chosen before, else the first one that the browser asks for and the page has, else English. */
export function pickLanguage(chosen: string | null, wanted: readonly string[]): Language {
  return matchLanguage(chosen) ?? wanted.map(matchLanguage).find((match) => match !== undefined) ?? "en";
}

function matchLanguage(tag: string | null): Language | undefined {
  const primary = tag?.toLowerCase().split("-")[0];
  return LANGUAGES.find((language) => language.toLowerCase().split("-")[0] === primary);
}
