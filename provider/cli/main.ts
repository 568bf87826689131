#!/usr/bin/env node
import { createRequire } from "node:module";
import { Command, CommanderError } from "commander";
import { ApiChatError } from "../errors.js";
import { responderCommand } from "./responder.js";
import { UsageError } from "./usage-error.js";
import { verifyCommand } from "./verify.js";

const EXIT_CODES = { failed: 1, wrongUse: 2 } as const;

const EXAMPLES = `
Examples:
  $ apichat verify https://chat.example/webhooks/apichat
  $ apichat responder --config /etc/apichat/responder.json
  $ apichat responder dead-letters --config /etc/apichat/responder.json

Exit code: 0 done, 1 failed, 2 wrong use or a wrong configuration.`;

const { version } = createRequire(import.meta.url)("pulumi-apichat/package.json") as { version: string };

const program = new Command("apichat")
  .description("Webhooks of the API Channel service from a shell")
  .version(version)
  .enablePositionalOptions()
  .addHelpText("after", EXAMPLES)
  .addCommand(responderCommand())
  .addCommand(verifyCommand());

throwInsteadOfExit(program);
// `apichat … | head` closes the pipe: nothing is wrong then.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Commander ends the process with 1 for wrong use, unless each command is told otherwise. */
function throwInsteadOfExit(command: Command): void {
  command.exitOverride();
  for (const subcommand of command.commands) throwInsteadOfExit(subcommand);
}

/** Says what went wrong, and gives the exit code. Commander has said it already of its own errors. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.wrongUse;
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  const isWrongUse =
    error instanceof UsageError || (error instanceof ApiChatError && error.code === "invalid_config");
  return isWrongUse ? EXIT_CODES.wrongUse : EXIT_CODES.failed;
}
