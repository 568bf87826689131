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

/** The README, and all pages of docs/ except those for the Pulumi Registry, which begin with front matter. */
export const readPages = (): Page[] => {
  const docs = readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".md"),
  );
  const pages = ["README.md", ...docs.map((name) => `docs/${name}`)].map(readPage);
  return pages.filter(({ text }) => !text.startsWith("---\n"));
};

/** Returns the code blocks of one language in order, including those inside a list. */
export const blocksOf = ({ text }: Pick<Page, "text">, language: string): string[] =>
  [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\`$`, "gms"))].map(
    ([, code = ""]) => code,
  );

/** The part of a page below a heading of the second level. */
export const chapterOf = ({ text }: Pick<Page, "text">, heading: string): Pick<Page, "text"> => {
  const [, rest = ""] = text.split(`\n## ${heading}\n`);
  return { text: rest.split("\n## ")[0] ?? "" };
};

/** Removes the path of the npm package's plugin from a Pulumi.yaml, so the engine downloads the plugin. */
export const withoutPlugin = (project: string): string =>
  project.replace(/^packages:\n {2}apichat: .*\n/m, "");

export const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```$/gms, "");

/** Returns the targets of the links and images of a page, in order. */
export const targetsOf = ({ text }: Pick<Page, "text">): string[] =>
  [...withoutCode(text).matchAll(/(?:\]\(|src(?:set)?=")([^)"\s]+)[)"]/g)].map(([, target = ""]) => target);

/** Whether a target is a file or an anchor rather than a URL. */
export const isRelative = (target: string): boolean => !/^[a-z]+:/.test(target);

/** Returns the headings of a page, of all levels. */
export const headingsOf = ({ text }: Pick<Page, "text">): string[] =>
  [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => heading);

/** Returns the commands in shell blocks. A command of several lines becomes one line. */
export const commandsIn = (blocks: readonly string[]): string[] =>
  blocks.flatMap((block) =>
    block
      .trimEnd()
      .replaceAll(/ \\\n\s*/g, " ")
      .split("\n"),
  );
