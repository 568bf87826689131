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
    .description("check Node.js, Pulumi and the plugin, with a hint for each problem")
    .option("--json", 'print { "passed", "checks": [{ "name", "status", "text", "hint" }] }')
    .addHelpText("after", HELP)
    .action((options: DoctorOptions) => runToExit({}, ({ signal }) => inspect(options, signal)));

const HELP = `
This command changes nothing and calls no service. It reads Pulumi.yaml in the current folder or a parent.
To check the program and its configuration, run pulumi preview; to check the base URL and the API key, run apichat
webhook get; to check the endpoint, run apichat verify. Only the status "failed" is an error.

Examples:
  $ apichat doctor
  $ apichat doctor --json | jq '.checks[] | select(.status == "failed")'
${ENDINGS}`;

async function inspect({ json }: DoctorOptions, signal: AbortSignal): Promise<number> {
  // Loaded here, so that `--help` does not load the checks.
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
