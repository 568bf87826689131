import { Command, InvalidArgumentError } from "commander";
import { createRedactor } from "../lib/redact.js";
import type { ListenEvent } from "./listen/watch.js";
import { addCredentialOptions, CREDENTIALS_HELP, type CredentialOptions } from "./credential-options.js";
import { openCredentials } from "./credentials.js";
import { parsePort, parseUrl } from "./option-values.js";
import { EXIT } from "./output.js";
import { toJsonLine } from "../lib/plain-text.js";
import { untilStopped } from "./run-command.js";

interface ListenOptions extends CredentialOptions {
  port: number;
  host: string;
  path?: string;
  forward?: string;
  verbose?: boolean;
  json?: boolean;
}

/** Loaded only to listen: `--help` needs no HTTP. */
const loadListener = () => import("./listen/run.js");

/**
 * The command `apichat listen`: a webhook endpoint for development, until Ctrl-C. It shows each request with its verdict and
 * can forward what was accepted.
 */
export function listenCommand(): Command {
  const command = new Command("listen")
    .description("receive deliveries, print each with its verdict, and forward it, until Ctrl-C")
    .option("--port <port>", "where to listen; 0 is any that is free", parsePort, 0)
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--path <path>", "the only path that is answered (default: every path)", parsePath)
    .option("--forward <url>", "URL of your program: what is accepted is posted there", parseUrl)
    .option("--verbose", "headers and body too")
    .option("--json", "one JSON object a line, with headers and body");
  return addCredentialOptions(command, ["verificationKey"]).addHelpText("after", HELP).action(listen);
}

const HELP = `${CREDENTIALS_HELP}
It answers the handshake, so its URL can be registered: for a service elsewhere put a tunnel before it.
The preflight of this package, as in pulumi up, is marked. It is known by its User-Agent, which any sender can copy.
A delivery is answered with 200 if its signature is right, else with 401, and printed in both cases.

What is accepted is forwarded once, byte for byte, with its end-to-end headers, in order within a conversation. The answer
to the service does not wait for it: nothing is kept and nothing is tried again. For that see apichat responder.

The first line is the URL. With --json "type" is listening, handshake, delivery, request or forward.

Examples:
  $ apichat listen --port 8080
  $ apichat listen --port 8080 --forward http://127.0.0.1:3000/messages --verbose
  $ apichat listen --key-file acme.key --json | jq 'select(.signature == "wrong")'

Exit code: 0 ended by Ctrl-C or SIGTERM, 1 cannot listen, 2 wrong use.`;

/** As on the wire. `createResponder` has the same rule for programs. */
function parsePath(text: string): string {
  if (/^\/[!"$->@-~]*$/.test(text)) return text;
  throw new InvalidArgumentError('It must start with "/", be percent-encoded and have no query.');
}

async function listen({ verbose = false, json = false, ...options }: ListenOptions): Promise<void> {
  const credentials = openCredentials(options, () => process.exit(EXIT.interrupted));
  const verificationKey = await credentials.secret("verificationKey");
  // A stranger may have sent the key.
  const redact = createRedactor([verificationKey]);
  const { startListening, formatListenEvent } = await loadListener();
  const { stdout } = process;
  const print = (event: ListenEvent): void => {
    const line = json ? toJsonLine(event) : formatListenEvent(event, { verbose, stream: stdout });
    stdout.write(redact(line));
  };
  const stopped = untilStopped();
  const listening = await startListening({ ...options, verificationKey, onEvent: print });
  await stopped;
  await listening.close();
}
