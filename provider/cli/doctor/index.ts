import { Command } from "commander";
import { addCredentialOptions, CREDENTIALS_HELP, type CredentialOptions } from "../credentials.js";
import type { NamedFinding } from "./run.js";
import { parseUrl } from "../option-values.js";
import { ENDINGS, EXIT, paint, printResult } from "../output.js";
import { toPlainText } from "../../lib/plain-text.js";
import { runToExit, type CommandRun } from "../run-command.js";

interface DoctorOptions extends CredentialOptions {
  webhookUrl?: string;
  json?: boolean;
}

export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description("check Node.js, Pulumi, the plugin and the network, each with a hint")
    .option("--webhook-url <url>", "a webhook URL to check", parseUrl)
    .option("--json", 'print { "passed", "checks": [{ "name", "status", "text", "hint" }] }');
  return addCredentialOptions(command, ["baseUrl", "apiKey", "verificationKey"])
    .addHelpText("after", HELP)
    .action((options: DoctorOptions) => runToExit(options, (run) => inspect(options, run)));
}

const HELP = `${CREDENTIALS_HELP}
This command never prompts, changes nothing and sends no message. It reads the Pulumi.yaml in the current
folder or above. What is wrong with the program and its configuration, pulumi preview reports. ok, warning and
skipped are fine; failed is not.

Examples:
  $ apichat doctor
  $ apichat doctor --base-url https://platform.example/acme/apichat --webhook-url https://chat.example/webhooks/apichat
  $ apichat doctor --json | jq '.checks[] | select(.status == "failed")'
${ENDINGS}`;

async function inspect({ webhookUrl, json }: DoctorOptions, run: CommandRun): Promise<number> {
  // Loaded here, because `--help` needs none of it.
  const { runChecks } = await import("./run.js");
  const checks = await runChecks({ ...run, folder: process.cwd(), webhookUrl });
  const passed = checks.every(({ status }) => status !== "failed");
  printResult({ json }, { passed, checks }, () => formatFindings(checks));
  return passed ? EXIT.done : EXIT.failed;
}

const COLOURS = { ok: "green", warning: "yellow", failed: "red", skipped: "gray" } as const;
const STATUS_WIDTH = Math.max(...Object.keys(COLOURS).map((status) => status.length));

function formatFindings(findings: readonly NamedFinding[]): string {
  const nameWidth = Math.max(...findings.map(({ name }) => name.length));
  const indent = " ".repeat(STATUS_WIDTH + nameWidth + 4);
  const lines = findings.flatMap(({ name, status, text, hint }) => [
    `${paint(COLOURS[status], status.padEnd(STATUS_WIDTH))}  ${name.padEnd(nameWidth)}  ${toPlainText(text)}\n`,
    ...(hint === undefined ? [] : [`${indent}hint: ${toPlainText(hint)}\n`]),
  ]);
  return lines.join("");
}
