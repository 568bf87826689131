import { Command } from "commander";
import type { EndpointCheck, HandshakeDiagnosis } from "../diagnosis/index.js";
import { formatUrl } from "../lib/url.js";
import { addCredentialOptions, type CredentialOptions, CREDENTIALS_HELP } from "./credentials.js";
import { confirm, requireTerminal } from "./confirm.js";
import { EXIT, JSON_FAILURES, paint, printResult } from "./output.js";
import { parseSeconds, parseUrl } from "./option-values.js";
import { noteIfSlow, type CommandRun, runToExit } from "./run-command.js";
import { formatTable } from "./table.js";

interface VerifyOptions extends CredentialOptions {
  json?: boolean;
  deliveries?: boolean;
  yes?: boolean;
  timeout: number;
}

export function verifyCommand(): Command {
  const command = new Command("verify")
    .description("perform the verification handshake with a webhook URL; if it fails, print why")
    .argument("<url>", "the webhook URL", parseUrl)
    .option("--timeout <seconds>", "how long each response may take", parseSeconds, 10)
    .option(
      "--deliveries",
      "also send deliveries, good and bad ones, and check how the endpoint handles each",
    )
    .option("--yes", "with --deliveries: do not prompt")
    .option("--json", "print the whole diagnosis as JSON");
  return addCredentialOptions(command, ["verificationKey", "earlierKey"])
    .addHelpText("after", HELP)
    .action((url: string, options: VerifyOptions) => runToExit(options, (run) => verify(url, options, run)));
}

const HELP = `${CREDENTIALS_HELP}
The rows form, json, multipart and query are the encodings of the handshake's parameters. The specification does
not say which one the service uses, so one that passes is enough. The page "Diagnosis" describes all causes and
warnings.

With --deliveries, the endpoint treats valid deliveries as messages of contact 7 in conversation 1, so the
command prompts first. The page "An endpoint in any language" explains the rule behind each check.

Examples:
  $ apichat verify https://chat.example/webhooks/apichat
  $ apichat verify http://127.0.0.1:8080/webhooks/apichat --deliveries
  $ apichat verify https://chat.example/webhooks/apichat --key-file acme.key --json

Exit code: 0 passed, 1 failed, 2 usage error, 130 interrupted (Ctrl-C).
With 2 and 130, stdout is empty, even with --json.
${JSON_FAILURES}`;

async function verify(
  url: string,
  options: VerifyOptions,
  { signal, credentials }: CommandRun,
): Promise<number> {
  const verificationKey = await credentials.secret("verificationKey");
  const earlierKey = await credentials.findSecret("earlierKey");
  const limitMs = options.timeout * 1000;
  if (options.deliveries && !(await mayDeliver(url, options, signal))) return EXIT.failed;
  // Loaded here, because `--help` needs no HTTP client.
  const [{ checkEndpoint, diagnoseHandshake }, { describeRecord }] = await Promise.all([
    import("../diagnosis/index.js"),
    import("../diagnosis/internal.js"),
  ]);
  const diagnosis = await noteIfSlow(
    () => `waiting for ${formatUrl(url)} to answer the handshake`,
    () => diagnoseHandshake({ url, verificationKey, limitMs, signal, probe: true }),
  );
  const format = (): string => formatDiagnosis(diagnosis, describeRecord(diagnosis.transcript));
  if (!options.deliveries) {
    printResult(options, diagnosis, format);
    return diagnosis.passed ? EXIT.done : EXIT.failed;
  }
  const checks = diagnosis.passed
    ? await noteIfSlow(
        () => `checking how ${formatUrl(url)} handles deliveries`,
        () => checkEndpoint({ url, verificationKey, earlierKey, limitMs, signal }),
      )
    : [];
  const passed = diagnosis.passed && checks.every(({ result }) => result === "right" || result === "skipped");
  printResult(options, { passed, checks, diagnosis }, () =>
    diagnosis.passed ? formatChecks(checks) : format(),
  );
  return passed ? EXIT.done : EXIT.failed;
}

function formatDiagnosis(diagnosis: HandshakeDiagnosis, record: readonly string[]): string {
  const { transcript, warnings } = diagnosis;
  const verdict = diagnosis.passed
    ? [formatLabel("passed", "green", `${transcript.url} answers the handshake`)]
    : [
        formatLabel("failed", "red", `${transcript.url}: ${diagnosis.reason}`),
        formatLabel("hint", "cyan", diagnosis.hint),
      ];
  const lines = [
    ...verdict,
    ...record.map((line) => `  ${line}`),
    ...warnings.map(({ text }) => formatLabel("warning", "yellow", text)),
  ];
  return `${lines.join("\n")}\n`;
}

const formatLabel = (label: string, colour: "green" | "red" | "yellow" | "cyan", text: string): string =>
  `${paint([colour, "bold"], label)}${" ".repeat(9 - label.length)}${text}`;

/** With `--yes`, returns true, else asks whether to send deliveries. Throws a UsageError if it cannot ask. */
async function mayDeliver(url: string, { yes }: { yes?: boolean }, signal: AbortSignal): Promise<boolean> {
  if (!yes) requireTerminal("verify --deliveries");
  const what = "deliveries as messages of contact 7 in conversation 1";
  const question = `The endpoint at ${formatUrl(url)} will treat these ${what}. Send them? (y/N) `;
  return confirm(question, { yes, otherwise: "nothing was sent", signal });
}

const COLOURS = { right: "green", skipped: "gray", wrong: "yellow", unsafe: "red" } as const;

function formatChecks(checks: readonly EndpointCheck[]): string {
  const rows = checks.map(({ result, rule, name, response }) => [result, String(rule), name, response]);
  const results = (["right", "wrong", "unsafe", "skipped"] as const)
    .map((result) => ({ result, count: checks.filter((check) => check.result === result).length }))
    .filter(({ count, result }) => count > 0 || result === "right")
    .map(({ result, count }) => paint(COLOURS[result], `${count} ${result}`));
  const hints = Map.groupBy(
    checks.filter(({ hint }) => hint !== undefined),
    ({ rule, hint }) => `rule ${rule}: ${hint}`,
  );
  const advice = [...hints].map(
    ([hint, same]) => `${hint}\n${same.map(({ name, response }) => `  ${name}: ${response}\n`).join("")}`,
  );
  if (checks.some(({ result, rule }) => result === "skipped" && rule === 6)) {
    advice.push("skipped: give the endpoint a second key too, and pass that key with --earlier-key-file\n");
  }
  const table = formatTable(["RESULT", "RULE", "CHECK", "RESPONSE"], rows, { colours: COLOURS });
  return [table, `${results.join(", ")}\n`, ...advice].join("\n");
}
