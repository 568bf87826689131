import { Command } from "commander";
import type { HandshakeDiagnosis } from "../diagnosis/index.js";
import { describeRecord } from "../diagnosis/internal.js";
import { formatUrl } from "../lib/url.js";
import { addCredentialOptions, type CredentialOptions, CREDENTIALS_HELP } from "./credentials.js";
import { formatChecks, mayDeliver, playDeliveries } from "./verify-deliveries.js";
import { EXIT, JSON_FAILURES, paint, printResult } from "./output.js";
import { parseSeconds, parseUrl } from "./option-values.js";
import { noteIfSlow, type Run, runToExit } from "./run-command.js";

interface VerifyOptions extends CredentialOptions {
  json?: boolean;
  deliveries?: boolean;
  yes?: boolean;
  /** In seconds. */
  timeout: number;
}

/**
 * The command `apichat verify <url>`: performs the handshake of section 6.1 and prints why it fails. Ends with exit code 0 if the
 * handshake passed, 1 if it failed.
 */
export function verifyCommand(): Command {
  const command = new Command("verify")
    .description("perform the verification handshake with a webhook URL, and print why it fails")
    .argument("<url>", "the webhook URL", parseUrl)
    .option("--timeout <seconds>", "how long each response may take", parseSeconds, 10)
    .option("--deliveries", "also send deliveries, good and bad ones, and check how the endpoint takes each")
    .option("--yes", "with --deliveries: do not ask")
    .option("--json", "print the whole diagnosis as JSON");
  return addCredentialOptions(command, ["verificationKey", "earlierKey"])
    .addHelpText("after", HELP)
    .action((url: string, options: VerifyOptions) => runToExit(options, (run) => verify(url, options, run)));
}

const HELP = `${CREDENTIALS_HELP}
The rows form, json, multipart and query are the encodings of the three parameters. The specification does not say
which one the service uses, so one that passes is enough. The page "Diagnosis" has all causes and warnings.

With --deliveries the endpoint takes genuine deliveries for messages of contact 7 in conversation 1, so the command
asks first. The page "An endpoint in any language" has the rule behind each check.

Examples:
  $ apichat verify https://chat.example/webhooks/apichat
  $ apichat verify http://127.0.0.1:8080/webhooks/apichat --deliveries
  $ apichat verify https://chat.example/webhooks/apichat --key-file acme.key --json

Exit code: 0 passed, 1 failed, 2 usage error, 130 interrupted (Ctrl-C).
With 2 and 130 stdout is empty, even with --json.
${JSON_FAILURES}`;

async function verify(url: string, options: VerifyOptions, { signal, credentials }: Run): Promise<number> {
  const verificationKey = await credentials.secret("verificationKey");
  const earlierKey = await credentials.findSecret("earlierKey");
  const limitMs = options.timeout * 1000;
  if (options.deliveries && !(await mayDeliver(url, options, signal))) return EXIT.failed;
  // Loaded here, because `--help` needs no HTTP client.
  const { diagnoseHandshake } = await import("../diagnosis/index.js");
  const diagnosis = await noteIfSlow(
    () => `waiting for ${formatUrl(url)} to answer the handshake`,
    () =>
      diagnoseHandshake({ url, verificationKey, limitMs, signal, probeToken: true, probeSignature: true }),
  );
  if (!options.deliveries) {
    printResult(options, diagnosis, () => formatDiagnosis(diagnosis));
    return diagnosis.passed ? EXIT.done : EXIT.failed;
  }
  const checks = diagnosis.passed
    ? await playDeliveries({ url, verificationKey, earlierKey, limitMs, signal })
    : [];
  const passed = diagnosis.passed && checks.every(({ result }) => result === "right" || result === "skipped");
  printResult(options, { passed, checks, diagnosis }, () =>
    diagnosis.passed ? formatChecks(checks) : formatDiagnosis(diagnosis),
  );
  return passed ? EXIT.done : EXIT.failed;
}

/** The diagnosis for people: verdict, facts, warnings, and how to fix it. */
function formatDiagnosis(diagnosis: HandshakeDiagnosis): string {
  const { transcript, warnings } = diagnosis;
  const verdict = diagnosis.passed
    ? [formatLabel("passed", "green", `${transcript.url} answers the handshake`)]
    : [
        formatLabel("failed", "red", `${transcript.url}: ${diagnosis.reason}`),
        formatLabel("hint", "cyan", diagnosis.hint),
      ];
  const lines = [
    ...verdict,
    ...describeRecord(transcript).map((line) => `  ${line}`),
    ...warnings.map(({ text }) => formatLabel("warning", "yellow", text)),
  ];
  return `${lines.join("\n")}\n`;
}

const formatLabel = (label: string, colour: "green" | "red" | "yellow" | "cyan", text: string): string =>
  `${paint([colour, "bold"], label)}${" ".repeat(9 - label.length)}${text}`;
