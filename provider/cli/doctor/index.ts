import { Command } from "commander";
import { ENDINGS, EXIT, printResult } from "../output.js";
import { runToExit } from "../run-command.js";
import { formatTable } from "../table.js";
import type { Finding } from "./checks.js";

interface DoctorOptions {
  json?: boolean;
}

export const doctorCommand = (): Command =>
  new Command("doctor")
    .description("check Node.js, Pulumi and the plugin, each with a hint")
    .option("--json", 'print { "passed", "checks": [{ "name", "status", "text", "hint" }] }')
    .addHelpText("after", HELP)
    .action((options: DoctorOptions) => runToExit({}, ({ signal }) => inspect(options, signal)));

const HELP = `
This command changes nothing and calls no service. It reads the Pulumi.yaml in the current folder or above.
pulumi preview reports what is wrong with the program and its configuration, apichat webhook get checks base
URL and API key, and apichat verify the endpoint. ok, warning and skipped are fine; failed is not.

Examples:
  $ apichat doctor
  $ apichat doctor --json | jq '.checks[] | select(.status == "failed")'
${ENDINGS}`;

async function inspect({ json }: DoctorOptions, signal: AbortSignal): Promise<number> {
  // Loaded here, because `--help` needs none of it.
  const { runChecks } = await import("./checks.js");
  const checks = await runChecks(process.cwd(), signal);
  const passed = checks.every(({ status }) => status !== "failed");
  printResult({ json }, { passed, checks }, () => formatFindings(checks));
  return passed ? EXIT.done : EXIT.failed;
}

const COLOURS = { ok: "green", warning: "yellow", failed: "red", skipped: "gray" } as const;

function formatFindings(findings: readonly Finding[]): string {
  const rows = findings.map(({ name, status, text, hint = "" }) => [status, name, text, hint]);
  return formatTable(["STATUS", "CHECK", "FOUND", "HINT"], rows, { colours: COLOURS });
}
