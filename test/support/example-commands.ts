import { readFile, writeFile } from "node:fs/promises";

/** The shell commands of one chapter of a README, in their order. A command over several lines is one. */
export function readExampleCommands(readme: string, chapter: string): string[] {
  const [, text] = readme.split(`\n## ${chapter}\n`);
  if (text === undefined) throw new Error(`the README has no chapter "${chapter}"`);
  const [own = ""] = text.split("\n## ");
  const blocks = [...own.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  return blocks.flatMap((block) =>
    block
      .trimEnd()
      .replaceAll(/ \\\n\s*/g, " ")
      .split("\n"),
  );
}

/** Fails if the text is not there. */
export async function replaceInFile(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  if (!text.includes(from)) throw new Error(`${path} does not name ${from}`);
  await writeFile(path, text.replaceAll(from, to));
}
