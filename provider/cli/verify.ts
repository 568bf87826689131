import { Command } from "commander";
import { styleText } from "node:util";
import type { HandshakeDiagnosis, HandshakeTranscript } from "../diagnosis/index.js";
import { describeAddresses, rowsOf, SLOW_MS } from "../diagnosis/describe.js";
import { problemOfUrl } from "../lib/checks.js";
import { formatUrl } from "../lib/url.js";
import { addCredentialOptions, type CredentialOptions, CREDENTIALS_HELP } from "./credential-options.js";
import { openCredentials } from "./credentials.js";
import { EXIT, JSON_FAILURES, print, printJson } from "./output.js";
import { parseSeconds } from "./option-values.js";
import { type Interruption, noteIfSlow, runToExit } from "./run-command.js";
import { UsageError } from "./usage-error.js";

const DEFAULT_SECONDS = 10;

interface VerifyOptions extends CredentialOptions {
  json?: boolean;
  /** In seconds. */
  timeout: number;
}

/** Loaded only when the command runs: `--help` needs no HTTP client. */
const loadDiagnosis = () => import("../diagnosis/index.js");

/**
 * The command `apichat verify <url>`: performs the handshake of section 6.1 and prints why it fails. It ends the process:
 * exit code 0 if the handshake passed, 1 if it failed, 130 after Ctrl-C. Wrong use is thrown, as a UsageError or by commander.
 */
export function verifyCommand(): Command {
  const command = new Command("verify")
    .description("perform the verification handshake with a webhook URL, and print why it fails")
    .argument("<url>", "the webhook URL")
    .option("--timeout <seconds>", "how long each answer may take", parseSeconds, DEFAULT_SECONDS)
    .option("--json", "print the whole diagnosis as JSON");
  return addCredentialOptions(command, ["verificationKey"])
    .addHelpText("after", HELP)
    .action((url: string, options: VerifyOptions) =>
      runToExit((interruption) => verify(url, options, interruption)),
    );
}

const HELP = `${CREDENTIALS_HELP}
A second handshake with a wrong token shows whether the endpoint checks the token.

The rows form, json, multipart and query are the ways in which the three parameters can travel: in a body as form, as JSON
or as multipart form, or in the URL's query. The specification does not say which one the service uses.
Multipart is tried if form and JSON fail, and the query only if all others fail,
because a key in a URL ends up in access logs. One that passes is enough.
An answer that takes ${SLOW_MS / 1000} s or longer is a warning.

Examples:
  $ apichat verify https://chat.example/webhooks/apichat
  $ apichat verify https://chat.example/webhooks/apichat --key-file acme.key --json

Exit code: 0 passed, 1 failed, 2 usage error, 130 interrupted (Ctrl-C).
With 2 and 130 nothing is on stdout, with --json either.
${JSON_FAILURES}`;

async function verify(url: string, options: VerifyOptions, interruption: Interruption): Promise<number> {
  const diagnosis = await diagnose(url, options, interruption);
  if (options.json) printJson(diagnosis);
  else print(formatDiagnosis(diagnosis));
  return diagnosis.passed ? EXIT.done : EXIT.failed;
}

async function diagnose(
  url: string,
  options: VerifyOptions,
  { signal, interrupt }: Interruption,
): Promise<HandshakeDiagnosis> {
  const problem = problemOfUrl(url, "https://chat.example/webhooks/apichat");
  if (problem !== undefined) throw new UsageError(`url: ${problem}`);
  const verificationKey = await openCredentials(options, interrupt).secret("verificationKey");
  const { diagnoseHandshake } = await loadDiagnosis();
  const limitMs = options.timeout * 1000;
  return noteIfSlow(
    () => `waiting for ${formatUrl(url)} to answer the handshake`,
    () =>
      diagnoseHandshake({ url, verificationKey, limitMs, signal, probeToken: true, probeSignature: true }),
  );
}

type Colour = "green" | "red" | "yellow" | "cyan";

/** The diagnosis for a person: verdict, what was seen, warnings, and how to fix it. Coloured where the terminal shows it. */
function formatDiagnosis(diagnosis: HandshakeDiagnosis): string {
  const { transcript, warnings } = diagnosis;
  const lines = [
    formatVerdict(diagnosis),
    ...formatFacts(transcript),
    ...warnings.map(({ text }) => formatLabel("warning", "yellow", text)),
    ...(diagnosis.passed ? [] : [formatLabel("hint", "cyan", diagnosis.hint)]),
  ];
  return `${lines.join("\n")}\n`;
}

function formatVerdict(diagnosis: HandshakeDiagnosis): string {
  const { url } = diagnosis.transcript;
  return diagnosis.passed
    ? formatLabel("passed", "green", `${url} answers the handshake`)
    : formatLabel("failed", "red", `${url}: ${diagnosis.reason}`);
}

function formatFacts({ addresses, steps }: HandshakeTranscript): string[] {
  const rows = rowsOf(steps).map((row) => ({ ...row, times: `${row.times.join(", ")} ms` }));
  const timesWidth = Math.max(...rows.map(({ times }) => times.length));
  const facts = [
    { label: "address", text: describeAddresses(addresses) },
    ...rows.map(({ encodings, times, outcome }) => ({
      label: encodings,
      text: `${times.padStart(timesWidth)}  ${outcome}`,
    })),
  ];
  const labelWidth = Math.max(...facts.map(({ label }) => label.length));
  return facts.map(({ label, text }) => `  ${label.padEnd(labelWidth)}  ${text}`);
}

const formatLabel = (label: string, colour: Colour, text: string): string =>
  `${styleText([colour, "bold"], label, { stream: process.stdout })}${" ".repeat(9 - label.length)}${text}`;
