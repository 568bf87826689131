import { CommanderError, type Command } from "commander";
import { ApiChatError, renderFailure, type Audience } from "../errors/index.js";
import { showUrl } from "../lib/checks.js";
import { EXIT, note } from "./output.js";
import { toPlainText } from "../lib/plain-text.js";
import { UsageError } from "./usage-error.js";

/** Whether the command line asks for JSON. It is read from argv, because what commander refuses it has not parsed. */
function wantsJson(): boolean {
  const words = process.argv.slice(2);
  const end = words.indexOf("--");
  return words.slice(0, end < 0 ? undefined : end).includes("--json");
}

/**
 * Prints on stderr what went wrong, in the words of the command line, and gives the exit code. Commander has printed it already for
 * its own errors.
 */
export function reportError(error: unknown, audience: Audience = "command_line"): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usageError;
  printError({ code: codeOf(error), message: textOf(error, audience) });
  return isUsageError(error) ? EXIT.usageError : EXIT.failed;
}

/** The text of an error in the words of an audience. */
export function textOf(error: unknown, audience: Audience = "command_line"): string {
  if (error instanceof ApiChatError) return renderFailure(error, audience);
  return error instanceof Error ? error.message : String(error);
}

/**
 * Makes commander report usage errors in this format; by default it prints its own and exits with 1. Each command has to set it.
 */
export function useOwnErrorFormat(command: Command): void {
  command.exitOverride().configureOutput({ outputError: (line) => reportUsageError(command, line) });
  for (const subcommand of command.commands) useOwnErrorFormat(subcommand);
}

/** Prints what commander refuses of a command, which calls it with the line that it would print. */
const reportUsageError = (command: Command, line: string): void => {
  const problem = hideValues(line.replace(/^error: /, "").trimEnd())
    .replace(/\n\(/, " (")
    .replace(/\.$/, "");
  printError({ code: "usage", message: `${problem}; see ${nameOf(command)} --help` });
};

/** With the commands above it, such as `apichat webhook get`. */
const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

/** Commander quotes `--api-kye=the-key` as a whole, and a URL with its query. */
const hideValues = (line: string): string =>
  line
    .replace(/^(unknown option '-[^=']*)=.*?'($|\n)/s, "$1=…'$2")
    .replace(/(?<= argument ')(.*)(?=' is invalid)/s, (value) => showUrl(value));

export function reportInterruption(): void {
  if (wantsJson()) printError({ code: "interrupted", message: "ended by Ctrl-C" });
  else note("interrupted");
}

/** One JSON object on one line where scripts read it, else `error: …`. */
function printError({ code, message }: { code: string; message: string }): void {
  note(wantsJson() ? toPlainText(JSON.stringify({ error: { code, message } })) : `error: ${message}`);
}

function codeOf(error: unknown): string {
  if (error instanceof UsageError) return "usage";
  return error instanceof ApiChatError ? error.code : "failed";
}

const isUsageError = (error: unknown): boolean =>
  error instanceof UsageError || (error instanceof ApiChatError && error.code === "invalid_config");
