import { readFile, writeFile } from "node:fs/promises";
import { blocksOf, commandsIn } from "./pages.ts";

/** The shell commands of one chapter of a README, in their order. */
export function readExampleCommands(readme: string, chapter: string): string[] {
  const [, text] = readme.split(`\n## ${chapter}\n`);
  if (text === undefined) throw new Error(`the README has no chapter "${chapter}"`);
  const [own = ""] = text.split("\n## ");
  return commandsIn(blocksOf({ text: own }, "sh"));
}

/** Fails if the text is not there. */
export async function replaceInFile(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  if (!text.includes(from)) throw new Error(`${path} does not name ${from}`);
  await writeFile(path, text.replaceAll(from, to));
}
