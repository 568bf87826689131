import { Command } from "commander";
import { createRedactor } from "../../lib/redact.js";
import { formatListenEvent } from "./lines.js";
import type { ListenEvent } from "./run.js";
import {
  addCredentialOptions,
  CREDENTIALS_HELP,
  type CredentialOptions,
  Credentials,
} from "../credentials.js";
import { parsePort, parseUrl } from "../option-values.js";
import { print } from "../output.js";
import { toJsonLine } from "../../lib/plain-text.js";
import { untilStopped } from "../run-command.js";

interface ListenOptions extends CredentialOptions {
  port: number;
  host: string;
  forward?: string;
  json?: boolean;
}

/** A webhook endpoint for development. */
export function listenCommand(): Command {
  const command = new Command("listen")
    .description("receive deliveries, print each, and forward it, until Ctrl-C")
    .option("--port <port>", "port to listen on; 0 picks a free one", parsePort, 0)
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--forward <url>", "forward accepted deliveries to this URL", parseUrl)
    .option("--json", "print one JSON object per line, with the body of deliveries");
  return addCredentialOptions(command, ["verificationKey"]).addHelpText("after", HELP).action(listen);
}

const HELP = `${CREDENTIALS_HELP}
The command answers the handshake, so you can register its URL. If the service runs elsewhere, start a tunnel to
the port, for example with cloudflared or ngrok, and register the tunnel's URL with apichat webhook set.

The service gets its response without waiting for --forward. Nothing is stored or retried; for that, use
apichat responder. With --json, "type" is listening, handshake (passed), delivery (accepted), request (anything
else, with the reason) or forward.

Examples:
  $ apichat listen --port 8080
  $ apichat listen --port 8080 --forward http://127.0.0.1:3000/messages
  $ apichat listen --key-file acme.key --json | jq 'select(.type == "delivery")'

Exit code: 0 stopped (Ctrl-C or SIGTERM), 1 could not listen, 2 usage error.`;

async function listen(options: ListenOptions): Promise<void> {
  const { json = false } = options;
  const verificationKey = await new Credentials(options).secret("verificationKey");
  // A request, and so its event, may contain the key.
  const redact = createRedactor([verificationKey]);
  // Loaded here, because `--help` needs no HTTP.
  const { startListening } = await import("./run.js");
  const onEvent = (event: ListenEvent): void =>
    print(redact(json ? toJsonLine(event) : formatListenEvent(event)));
  const stopped = untilStopped();
  const listening = await startListening({ ...options, verificationKey, onEvent });
  await stopped;
  await listening.close();
}
