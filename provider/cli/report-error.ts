import { CommanderError, type Command } from "commander";
import { ApiChatError, renderFailure, type Audience } from "../errors/index.js";
import { formatGivenUrl } from "../lib/url.js";
import { helpWidthOf, wrapHelp } from "./help.js";
import { EXIT, note } from "./output.js";
import { toPlainText } from "../lib/plain-text.js";
import { UsageError } from "./usage-error.js";

/** Whether the command line has --json. Reads argv, because commander has not parsed a rejected command line. */
function wantsJson(): boolean {
  const words = process.argv.slice(2);
  const end = words.indexOf("--");
  return words.slice(0, end < 0 ? undefined : end).includes("--json");
}

/** Prints an error on stderr, and returns the exit code. Commander has already printed its own errors. */
export function reportError(error: unknown, audience: Audience = "command_line"): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usageError;
  const code = error instanceof UsageError ? "usage" : error instanceof ApiChatError ? error.code : "failed";
  printError({ code, message: textOf(error, audience) });
  return code === "usage" || code === "invalid_config" ? EXIT.usageError : EXIT.failed;
}

export function textOf(error: unknown, audience: Audience = "command_line"): string {
  if (error instanceof ApiChatError) return renderFailure(error, audience);
  return error instanceof Error ? error.message : String(error);
}

/** Replaces commander's own handling, which prints usage errors in a different format and exits with 1. */
export function useOwnFormat(command: Command): void {
  command.exitOverride().configureOutput({
    outputError: (line) => reportUsageError(command, line),
    writeOut: (text) => void process.stdout.write(wrapHelp(text, helpWidthOf(process.stdout))),
  });
  for (const option of command.options) if (option.mandatory) option.description += " (required)";
  for (const subcommand of command.commands) useOwnFormat(subcommand);
}

/** Prints a usage error of a command. `line` is what commander would print. */
function reportUsageError(command: Command, line: string): void {
  const problem = hideValues(line.replace(/^error: /, "").trimEnd())
    .replace(/\n\(/, " (")
    .replace(/\.$/, "");
  const name = nameOf(command);
  const subcommands = command.commands.map((subcommand) => subcommand.name()).join("|");
  const usage = `; usage: ${name} ${command.usage().replace("[command]", `[${subcommands}]`)}`;
  const accepted = problem.startsWith("too many arguments") ? usage : "";
  printError({ code: "usage", message: `${problem}${accepted}; see ${name} --help` });
}

/** The full name, such as `apichat webhook get`. */
const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

/** Hides values that may be secret: commander quotes `--api-kye=the-key`, surplus arguments and whole URLs. */
const hideValues = (line: string): string =>
  line
    .replace(/^(too many arguments.* but got \d+): .*$/s, "$1")
    .replace(/^(unknown option '-[^=']*)=.*?'($|\n)/s, "$1=…'$2")
    // A value that is not a URL may be a key in the wrong place.
    .replace(/^(option '\S+ <url>') argument '.*' is invalid\. It/s, "$1")
    .replace(/^command-argument value '.*' is invalid for (argument 'url')\. It/s, "$1")
    .replace(/(?<= argument ')(.*)(?=' is invalid)/s, (value) => formatGivenUrl(value));

export function reportInterruption(): void {
  if (wantsJson()) printError({ code: "interrupted", message: "stopped by Ctrl-C" });
  else note("interrupted");
}

function printError({ code, message }: { code: string; message: string }): void {
  note(wantsJson() ? toPlainText(JSON.stringify({ error: { code, message } })) : `error: ${message}`);
}
