import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A page for users: README.md, or one of docs/. */
export interface Page {
  /** Relative to the repository. */
  path: string;
  text: string;
}

export const readPage = (path: string): Page => ({ path, text: readFileSync(`${root}${path}`, "utf8") });

/** The README, and every page of docs/. */
export const readPages = (): Page[] => {
  const docs = readdirSync(`${root}docs`).filter((name) => name.endsWith(".md"));
  return ["README.md", ...docs.map((name) => `docs/${name}`)].map(readPage);
};

/** The code blocks of one language, in their order, also those inside a list. */
export const blocksOf = ({ text }: Pick<Page, "text">, language: string): string[] =>
  [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\`$`, "gms"))].map(
    ([, code = ""]) => code,
  );

/** The commands of shell blocks. A command over several lines is one. */
export const commandsIn = (blocks: readonly string[]): string[] =>
  blocks.flatMap((block) =>
    block
      .trimEnd()
      .replaceAll(/ \\\n\s*/g, " ")
      .split("\n"),
  );
