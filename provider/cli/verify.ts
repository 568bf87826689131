import { Command } from "commander";
import type { HandshakeDiagnosis } from "../diagnosis/index.js";
import { SLOW_MS } from "../diagnosis/describe.js";
import { checkUrl } from "../lib/checks.js";
import { printUrl } from "../lib/url.js";
import { addCredentialOptions, CREDENTIALS_HELP, type CredentialOptions } from "./credential-options.js";
import { openCredentials } from "./credentials.js";
import { EXIT, JSON_FAILURES, print, printJson } from "./output.js";
import { parseSeconds } from "./option-values.js";
import { runToExit, type Interruption } from "./run-command.js";
import { noteIfSlow } from "./slow.js";
import { UsageError } from "./usage-error.js";
import { formatDiagnosis } from "./verify-report.js";

const DEFAULT_SECONDS = 10;

interface VerifyOptions extends CredentialOptions {
  json?: boolean;
  /** In seconds. */
  timeout: number;
}

/** Loaded only when the command runs: `--help` needs no HTTP client. */
const loadDiagnosis = () => import("../diagnosis/index.js");

/**
 * The command `apichat verify <url>`: performs the handshake as the service would and prints why it fails. It ends the process:
 * exit code 0 if the handshake passed, 1 if it failed, 130 after Ctrl-C. Wrong use is thrown, as a UsageError or by commander.
 */
export function verifyCommand(): Command {
  const command = new Command("verify")
    .description("perform the handshake with a webhook URL as the service would, and print why it fails")
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

Exit code: 0 passed, 1 failed, 2 wrong use, 130 ended by Ctrl-C.
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
  const [failure] = checkUrl("url", url, "https://chat.example/webhooks/apichat");
  if (failure !== undefined) throw new UsageError(failure.reason);
  const verificationKey = await openCredentials(options, interrupt).secret("verificationKey");
  const { diagnoseHandshake } = await loadDiagnosis();
  const limitMs = options.timeout * 1000;
  return noteIfSlow(
    () => `waiting for ${printUrl(url)} to answer the handshake`,
    () =>
      diagnoseHandshake({
        url,
        verificationKey,
        limitMs,
        signal,
        probeToken: true,
        probeSignature: true,
      }),
  );
}
