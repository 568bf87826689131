import { Command } from "commander";
import { VERSION } from "../lib/version.js";
import { doctorCommand } from "./doctor/index.js";
import { emulatorCommand } from "./emulator/index.js";
import { credentialsTopic, openPointsTopic } from "./help.js";
import { initCommand } from "./init/index.js";
import { listenCommand } from "./listen/index.js";
import { ENDINGS } from "./output.js";
import { useOwnFormat, reportError } from "./report-error.js";
import { responderCommand } from "./responder.js";
import { sendCommand } from "./send.js";
import { triggerCommand } from "./trigger.js";
import { verifyCommand } from "./verify.js";
import { webhookCommand } from "./webhook/index.js";

const EXAMPLES = `
Examples:
  $ apichat init my-webhooks
  $ apichat emulator
  $ apichat verify https://chat.example/webhooks/apichat
  $ apichat webhook get --base-url https://platform.example/acme/apichat
  $ apichat webhook plan --file workspaces.yaml
  $ apichat send text "Good morning" --sender-id 42 --sender-name Ana --conversation-id 7
  $ apichat responder --config /etc/apichat/responder.json

Help topics: apichat help credentials, apichat help open-points.
A fleet has its own command line: node fleet.ts --help.
${ENDINGS}`;

export const apichatProgram = (): Command =>
  new Command("apichat")
    .description("Webhooks and messages of the API Channel service from a shell")
    .version(VERSION)
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText("after", EXAMPLES)
    .addCommand(initCommand())
    .addCommand(emulatorCommand())
    .addCommand(webhookCommand())
    .addCommand(sendCommand())
    .addCommand(verifyCommand())
    .addCommand(listenCommand())
    .addCommand(triggerCommand())
    .addCommand(responderCommand())
    .addCommand(doctorCommand())
    .addCommand(credentialsTopic(), { hidden: true })
    .addCommand(openPointsTopic(), { hidden: true });

export async function runProgram(): Promise<void> {
  const program = apichatProgram();
  useOwnFormat(program);
  // `apichat … | head` closes the pipe, which is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = reportError(error);
  }
}
