import { Command, Option } from "commander";
import { createRedactor } from "../../lib/redact.js";
import { formatListenEvent } from "./lines.js";
import { openTunnel, TUNNEL_PROGRAMS, type Tunnel, type TunnelProgram } from "./tunnel.js";
import type { ListenEvent } from "./run.js";
import {
  addCredentialOptions,
  CREDENTIALS_HELP,
  type CredentialOptions,
  Credentials,
} from "../credentials.js";
import { parsePort, parseUrl } from "../option-values.js";
import { note, print } from "../output.js";
import { toJsonLine } from "../../lib/plain-text.js";
import { formatUrl } from "../../lib/url.js";
import { divertLinesToStderr, untilStopped } from "../run-command.js";

interface ListenOptions extends CredentialOptions {
  port: number;
  host: string;
  forward?: string;
  tunnel?: TunnelProgram;
  replace?: boolean;
  json?: boolean;
}

/**
 * The command `apichat listen`: a webhook endpoint for development, until Ctrl-C. It prints each request with
 * its verdict and can forward accepted deliveries.
 */
export function listenCommand(): Command {
  const command = new Command("listen")
    .description("receive deliveries, print each with its verdict, and forward it, until Ctrl-C")
    .option("--port <port>", "port to listen on; 0 picks a free one", parsePort, 0)
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--forward <url>", "forward accepted deliveries to this URL", parseUrl)
    .addOption(
      new Option(
        "--tunnel <program>",
        "start this tunnel, register its URL, and restore the registration at the end",
      ).choices(TUNNEL_PROGRAMS),
    )
    .option("--replace", "with --tunnel: replace a different webhook until the end")
    .option("--json", "print one JSON object per line, with headers and body");
  return addCredentialOptions(command, ["verificationKey", "baseUrl", "apiKey"])
    .addHelpText("after", HELP)
    .action(listen);
}

const HELP = `${CREDENTIALS_HELP}
It answers the handshake, so you can register its URL. If the service runs elsewhere, --tunnel starts
cloudflared, ngrok or tailscale from PATH and registers the tunnel's URL with --base-url and the API key. At
the end, what was registered before is registered again. Anyone who knows the tunnel's URL can reach the
endpoint; it accepts only what is signed.

The service gets its response without waiting for --forward. Nothing is stored or retried; for that, use
apichat responder. With --json "type" is listening, registered, handshake, delivery, request or forward.

Examples:
  $ apichat listen --port 8080
  $ apichat listen --port 8080 --forward http://127.0.0.1:3000/messages
  $ apichat listen --tunnel cloudflared --credentials acme.yaml --forward http://127.0.0.1:3000/messages
  $ apichat listen --key-file acme.key --json | jq 'select(.signature == "wrong")'

Exit code: 0 stopped (Ctrl-C or SIGTERM), 1 could not listen, 2 usage error.`;

async function listen(options: ListenOptions): Promise<void> {
  const { json = false, tunnel, replace = false } = options;
  const credentials = new Credentials(options);
  const verificationKey = await credentials.secret("verificationKey");
  const borrowing = tunnel && {
    program: tunnel,
    webhookVerificationKey: verificationKey,
    onExisting: replace ? ("replace" as const) : ("fail" as const),
    baseUrl: await credentials.address("baseUrl"),
    apiKey: await credentials.secret("apiKey"),
  };
  // A sender may echo the key.
  const redact = createRedactor([verificationKey]);
  // Loaded here, because `--help` needs no HTTP.
  const { startListening } = await import("./run.js");
  const onEvent = (event: ListenEvent): void =>
    print(redact(json ? toJsonLine(event) : formatListenEvent(event)));
  // A closed terminal must not leave the registration of a tunnel behind.
  const stopped = tunnel === undefined ? untilStopped() : untilStopped("SIGHUP");
  const listening = await startListening({ ...options, verificationKey, onEvent });
  try {
    if (borrowing === undefined) await stopped;
    else await listenThroughTunnel(borrowing, { local: listening.url, stopped, onEvent });
  } finally {
    await listening.close();
  }
}

interface Borrowing {
  program: TunnelProgram;
  webhookVerificationKey: string;
  onExisting: "fail" | "replace";
  baseUrl: string;
  apiKey: string;
}

/** Registers the URL of a tunnel to `local` until the command is stopped or the tunnel ends, which is an error. */
async function listenThroughTunnel(
  { program, ...workspace }: Borrowing,
  {
    local,
    stopped,
    onEvent,
  }: { local: string; stopped: Promise<void>; onEvent: (event: ListenEvent) => void },
): Promise<void> {
  const { borrowRegistration, reserveWorkspace } = await import("../../registration/borrow.js");
  const { requireInputs } = await import("../webhook/workspace.js");
  divertLinesToStderr();
  const { baseUrl, apiKey } = workspace;
  const interruption = new AbortController();
  const { signal } = interruption;
  void stopped.then(() => interruption.abort(new Error("interrupted")));
  const reservation = reserveWorkspace(baseUrl, apiKey);
  let tunnel: Tunnel | undefined;
  try {
    tunnel = await openTunnel(program, local, signal);
    note(`${program} forwards ${tunnel.url} to this endpoint; registering it`);
    const wanted = requireInputs({ name: "listen", ...workspace, webhookUrl: tunnel.url });
    const restore = await borrowRegistration(wanted, reservation, { apiKey, signal, tunnel });
    onEvent({ type: "registered", at: new Date().toISOString(), url: formatUrl(tunnel.url) });
    const lastLines = await Promise.race([stopped, tunnel.ended]);
    await restore();
    if (typeof lastLines === "string") throw new Error(`${program} has ended: ${lastLines}`);
  } catch (error) {
    if (error !== signal.reason) throw error;
  } finally {
    tunnel?.close();
    reservation.release();
  }
}
