import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { addCredentialOptions, CREDENTIALS_HELP, type CredentialOptions } from "./credentials.js";
import { ENDINGS, EXIT, printResult } from "./output.js";
import { runToExit, type CommandRun } from "./run-command.js";
import { UsageError } from "./usage-error.js";

interface SignOptions extends CredentialOptions {
  check?: string;
  json?: boolean;
}

export const signCommand = (): Command =>
  addCredentialOptions(new Command("sign"), ["verificationKey"])
    .description("sign a body as the service does, or check its signature")
    .argument("[file]", 'the body, byte for byte; "-" is stdin', "-")
    .option("--check <signature>", "check whether this value of X-Hub-Signature-256 is right")
    .option("--json", "print { signature } or { valid, reason }")
    .addHelpText("after", HELP)
    .action((file: string, options: SignOptions) => runToExit(options, (run) => sign(file, options, run)));

const HELP = `
It prints the value of the header X-Hub-Signature-256. Every byte counts, including a line break at the end of
the file.
${CREDENTIALS_HELP}
Examples:
  $ apichat sign body.json --key-file acme.key
  $ curl -X POST --data-binary @body.json -H "X-Hub-Signature-256: $(apichat sign body.json)" https://chat.example/acme
  $ apichat sign - --check sha256=5257a8… < body.json
${ENDINGS}
With --check, 0 means valid and 1 invalid; "reason" says why, and is empty if valid.`;

async function sign(file: string, options: SignOptions, { credentials }: CommandRun): Promise<number> {
  const { check } = options;
  const key = await credentials.secret("verificationKey");
  const body = await readBody(file);
  // Loaded here, because `--help` needs no crypto.
  const { signBody, verifySignature } = await import("../responder/index.js");
  if (check === undefined) {
    const signature = await signBody(key, body);
    printResult(options, { signature }, () => `${signature}\n`);
    return EXIT.done;
  }
  const valid = await verifySignature({ verificationKeys: key, body, signature: check });
  const reason = valid ? "" : whyWrong(check);
  printResult(options, { valid, reason }, () =>
    valid ? "right: this key has signed this body\n" : `wrong: ${reason}\n`,
  );
  return valid ? EXIT.done : EXIT.failed;
}

const whyWrong = (signature: string): string =>
  /^sha256=[0-9a-f]{64}$/.test(signature)
    ? "it was signed with a different key, or the body differs"
    : "a signature is sha256= and 64 lower-case hex digits";

async function readBody(file: string): Promise<Uint8Array> {
  if (file === "-") return (await import("node:stream/consumers")).buffer(process.stdin);
  try {
    return await readFile(file);
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; name a file, or "-" for stdin`);
  }
}
