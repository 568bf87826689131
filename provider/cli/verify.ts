import { Command, InvalidArgumentError } from "commander";
import type { HandshakeDiagnosis } from "../diagnosis/index.js";
import { SLOW_MS } from "../diagnosis/warnings.js";
import { checkUrl } from "../resource/checks.js";
import { printUrl } from "../url.js";
import { UsageError } from "./usage-error.js";
import { readVerificationKey } from "./verification-key.js";
import { formatDiagnosis } from "./verify-report.js";

const EXIT_CODES = { passed: 0, failed: 1, interrupted: 130 } as const;

/** What takes longer than this is worth a line, in milliseconds. */
const WORTH_A_LINE_MS = 2_000;

const DEFAULT_SECONDS = 10;
const MOST_SECONDS = 3_600;

interface VerifyOptions {
  keyFile?: string;
  json?: boolean;
  /** In seconds. */
  timeout: number;
}

/** Loaded only when the command runs: `--help` needs no HTTP client. */
const loadDiagnosis = () => import("../diagnosis/index.js");

/**
 * The command `apichat verify <url>`: performs the handshake as the service would and says why it fails. It ends the process:
 * exit code 0 if the handshake passed, 1 if it failed, 130 after Ctrl-C. Wrong use is thrown, as a UsageError or by commander.
 */
export function verifyCommand(): Command {
  return new Command("verify")
    .description("perform the handshake with a webhook URL as the service would, and say why it fails")
    .argument("<url>", "the webhook URL")
    .option("--key-file <file>", "file that holds the verification key")
    .option("--timeout <seconds>", "how long each answer may take", parseSeconds, DEFAULT_SECONDS)
    .option("--json", "print the whole diagnosis as JSON")
    .addHelpText("after", HELP)
    .action(async (url: string, options: VerifyOptions) => {
      // A connection that is still being made would keep the process alive.
      process.exit(await verify(url, options));
    });
}

const HELP = `
The verification key is read from --key-file, else from APICHAT_VERIFICATION_KEY, else asked for.
A second handshake with a wrong token shows whether the endpoint checks the token.

The rows form, json and query tell how the three parameters travel: in a body as form or as JSON, or in
the URL's query. The specification does not say which one the service uses. The query is tried only if
both others fail, because a key in a URL ends up in access logs. One that passes is enough.
An answer that takes ${SLOW_MS / 1000} s or longer is a warning.

Examples:
  $ apichat verify https://chat.example/webhooks/apichat
  $ apichat verify https://chat.example/webhooks/apichat --key-file acme.key --json

Exit code: 0 passed, 1 failed, 2 wrong use, 130 ended by Ctrl-C.
With 2 and 130 nothing is on stdout, with --json either.`;

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds > 0 && seconds <= MOST_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds above 0, at most ${MOST_SECONDS}.`);
}

async function verify(url: string, options: VerifyOptions): Promise<number> {
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort());
  try {
    const diagnosis = await diagnose(url, options, interrupted);
    process.stdout.write(
      options.json ? `${JSON.stringify(diagnosis, null, 2)}\n` : formatDiagnosis(diagnosis),
    );
    return diagnosis.passed ? EXIT_CODES.passed : EXIT_CODES.failed;
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    process.stderr.write("interrupted\n");
    return EXIT_CODES.interrupted;
  }
}

async function diagnose(
  url: string,
  { keyFile, timeout }: VerifyOptions,
  interrupted: AbortController,
): Promise<HandshakeDiagnosis> {
  const [failure] = checkUrl("url", url, "https://chat.example/webhooks/apichat");
  if (failure !== undefined) throw new UsageError(failure.reason);
  const verificationKey = await readVerificationKey(keyFile, () => interrupted.abort());
  const { signal } = interrupted;
  const { diagnoseHandshake } = await loadDiagnosis();
  const slow = setTimeout(() => {
    process.stderr.write(`waiting for ${printUrl(url)} to answer the handshake\n`);
  }, WORTH_A_LINE_MS);
  try {
    const limitMs = timeout * 1000;
    return await diagnoseHandshake({
      url,
      verificationKey,
      limitMs,
      signal,
      probeToken: true,
      probeSignature: true,
    });
  } finally {
    clearTimeout(slow);
  }
}
