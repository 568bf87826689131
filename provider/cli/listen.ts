import { Command } from "commander";
import { createRedactor } from "../lib/redact.js";
import { formatListenEvent } from "./listen/lines.js";
import type { ListenEvent } from "./listen/watch.js";
import {
  addCredentialOptions,
  CREDENTIALS_HELP,
  type CredentialOptions,
  Credentials,
} from "./credentials.js";
import { parsePort, parseUrl } from "./option-values.js";
import { EXIT, print } from "./output.js";
import { toJsonLine } from "../lib/plain-text.js";
import { untilStopped } from "./run-command.js";

interface ListenOptions extends CredentialOptions {
  port: number;
  host: string;
  forward?: string;
  verbose?: boolean;
  json?: boolean;
}

/**
 * The command `apichat listen`: a webhook endpoint for development, until Ctrl-C. It prints each request with its verdict and can
 * forward accepted deliveries.
 */
export function listenCommand(): Command {
  const command = new Command("listen")
    .description("receive deliveries, print each with its verdict, and forward it, until Ctrl-C")
    .option("--port <port>", "port to listen on; 0 picks a free one", parsePort, 0)
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--forward <url>", "forward accepted deliveries to this URL", parseUrl)
    .option("--verbose", "also print headers and body")
    .option("--json", "print one JSON object per line, with headers and body");
  return addCredentialOptions(command, ["verificationKey"]).addHelpText("after", HELP).action(listen);
}

const HELP = `${CREDENTIALS_HELP}
It answers the handshake, so you can register its URL. If the service runs elsewhere, put a tunnel in front of it.
Handshakes of this package's own preflight, as in pulumi up, are marked; they are recognised by their User-Agent, which
any sender can copy.
A delivery is answered with 200 if its signature is valid, else with 401, and printed in both cases.

Accepted deliveries are forwarded once, byte for byte, with their end-to-end headers, in order within a conversation.
The service gets its response without waiting for that. Nothing is stored or retried; for that, use apichat responder.

The first line is the URL. With --json "type" is listening, handshake, delivery, request or forward.

Examples:
  $ apichat listen --port 8080
  $ apichat listen --port 8080 --forward http://127.0.0.1:3000/messages --verbose
  $ apichat listen --key-file acme.key --json | jq 'select(.signature == "wrong")'

Exit code: 0 stopped (Ctrl-C or SIGTERM), 1 could not listen, 2 usage error.`;

async function listen({ verbose = false, json = false, ...options }: ListenOptions): Promise<void> {
  const credentials = new Credentials(options, () => process.exit(EXIT.interrupted));
  const verificationKey = await credentials.secret("verificationKey");
  // A sender may echo the key.
  const redact = createRedactor([verificationKey]);
  // Loaded here, because `--help` needs no HTTP.
  const { startListening } = await import("./listen/run.js");
  const onEvent = (event: ListenEvent): void =>
    print(redact(json ? toJsonLine(event) : formatListenEvent(event, verbose)));
  const stopped = untilStopped();
  const listening = await startListening({ ...options, verificationKey, onEvent });
  await stopped;
  await listening.close();
}
