import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { checkWorkflow } from "./check-workflow.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const WORKFLOWS = ["yml", "yaml"].flatMap((extension) => [
  `.github/workflows/*.${extension}`,
  `examples/*/.github/workflows/*.${extension}`,
]);

/**
 * Lints the workflows of the repository and of its examples, or the files that are given. Prints what is wrong as
 * `file:line:column: message`, and exits 1 if there is anything, or no file at all.
 */
async function main(given: readonly string[]): Promise<void> {
  const files = given.length > 0 ? given : globSync(WORKFLOWS, { cwd: ROOT }).toSorted();
  let problems = 0;
  for (const file of files) {
    const text = await readFile(given.length > 0 ? file : `${ROOT}${file}`, "utf8");
    for (const { line, column, message } of await checkWorkflow(text, file)) {
      console.error(`${file}:${line}:${column}: ${message}`);
      problems += 1;
    }
  }
  if (problems === 0 && files.length > 0) console.log(`${files.length} workflow(s): nothing is wrong`);
  else process.exitCode = 1;
  if (files.length === 0) console.error("no workflow found");
}

await main(process.argv.slice(2));
