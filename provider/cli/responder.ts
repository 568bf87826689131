import { Command, InvalidArgumentError, Option } from "commander";
import { deadLettersCommand, deliveriesCommand, replayCommand, retryCommand } from "./kept-deliveries.js";
import { endProcess, EXIT, note } from "./output.js";
import { reportError } from "./report-error.js";
import { parsePort, parseWaitingSeconds } from "./option-values.js";
import { UsageError } from "./usage-error.js";
import type { ServeOptions } from "../server/index.js";

interface ResponderCommandOptions extends Omit<ServeOptions, "configFile"> {
  config?: string;
}

/** The subcommands read and change the spool, whether a responder is running or not. */
export function responderCommand(): Command {
  return (
    new Command("responder")
      .description(
        "answer handshakes, accept deliveries and forward them, until SIGTERM; SIGHUP reloads --config",
      )
      .enablePositionalOptions()
      .option("--config <file>", "configuration of the responder (JSON)")
      // Set by HandshakeResponder. This process then logs to responder.log in the data folder.
      .addOption(new Option("--instance <id>", "id of this process").argParser(parseInstance).hideHelp())
      .option("--metrics-port <port>", "serve Prometheus metrics on this port; needs prom-client", parsePort)
      .option("--metrics-host <host>", 'address for the metrics (default: "127.0.0.1", this machine only)')
      .option("--log-deliveries", "log a line for each delivery, without its content")
      .option(
        "--drain-seconds <seconds>",
        "after SIGTERM, keep accepting for this long while the ready path answers 503 (default: 0)",
        parseWaitingSeconds,
      )
      .addHelpText("after", HELP)
      .addCommand(deliveriesCommand())
      .addCommand(deadLettersCommand())
      .addCommand(replayCommand())
      .addCommand(retryCommand())
      // Ends the process, even if a failure left something open.
      .action(async (options) => endProcess(await serve(options).then(() => EXIT.done, reportError)))
  );
}

const HELP = `
A configuration:
  {
    "host": "127.0.0.1",
    "port": 8080,
    "dataDir": "/var/lib/apichat",
    "workspaces": {
      "acme": {
        "verificationKeys": [{ "file": "/run/secrets/acme-key" }],
        "forwardTo": "http://127.0.0.1:3000/messages"
      }
    }
  }

The page "The responder as a server" describes all fields. File paths are relative to the configuration's
folder.

Examples:
  $ apichat responder --config /etc/apichat/responder.json
  $ apichat responder deliveries --config /etc/apichat/responder.json --json
  $ apichat responder retry --config /etc/apichat/responder.json
  $ apichat responder replay --all --data-dir /var/lib/apichat

Exit code: 0 stopped, 1 could not start, 2 usage or configuration error.`;

/** The id is sent in a header of the control interface, so only these characters are allowed. */
function parseInstance(text: string): string {
  if (/^[\w.-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-".');
}

async function serve({ config, ...options }: ResponderCommandOptions): Promise<void> {
  if (config === undefined)
    throw new UsageError("pass the configuration with --config <file>; see apichat responder --help");
  if (options.metricsHost !== undefined && options.metricsPort === undefined)
    throw new UsageError("pass --metrics-port with --metrics-host; see apichat responder --help");
  if (process.stderr.isTTY) await printUrls(config);
  // Loaded here, because `--help` needs neither node:sqlite nor zod.
  const { serveUntilSignal } = await import("../server/index.js");
  await serveUntilSignal({ configFile: config, ...options });
}

/** Prints the URLs to register, for people: the log is for programs. */
async function printUrls(config: string): Promise<void> {
  const [{ readPlace }, { urlsOf }] = await Promise.all([
    import("../server/remote.js"),
    import("../handshake-responder/provider.js"),
  ]);
  const urls = Object.entries(urlsOf(await readPlace(config)));
  for (const [name, url] of urls.slice(0, 5)) note(`webhook URL of ${name}: ${url}`);
  if (urls.length > 5) note(`and ${urls.length - 5} more workspaces`);
}
