import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LANGUAGES, type Language } from "../../../provider/cli/init/languages.js";
import type { ProgramOptions } from "../../../provider/cli/init/program.js";

const languages = Object.keys(LANGUAGES) as Language[];
const EMULATOR = "http://127.0.0.1:4000/acme/apichat";

const write = (language: Language, options: Partial<ProgramOptions> = {}) =>
  LANGUAGES[language]({
    name: `apichat-${language}-quickstart`,
    source: "^0.1.0",
    baseUrl: EMULATOR,
    webhookUrl: undefined,
    ...options,
  });

/** The examples of a language share them. */
const OF_ALL_EXAMPLES = [".gitignore", "go.mod", "pom.xml"];

const examples = languages.filter((language) => language !== "typescript");

test.each(examples)("examples/%s/quickstart is what apichat init writes", async (language) => {
  const folder = new URL(`../../../examples/${language}/quickstart/`, import.meta.url);
  for (const [name, text] of Object.entries(write(language).files)) {
    if (OF_ALL_EXAMPLES.includes(name)) continue;
    // Has a program changed on purpose? `vitest -u` writes the example.
    await expect(text).toMatchFileSnapshot(fileURLToPath(new URL(name, folder)));
  }
});
