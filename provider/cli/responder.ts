import { Command, InvalidArgumentError } from "commander";
import { deadLettersCommand, deliveriesCommand, replayCommand, retryCommand } from "./kept-deliveries.js";
import { EXIT } from "./output.js";
import { reportError } from "./report-error.js";
import { UsageError } from "./usage-error.js";

interface ResponderOptions {
  config?: string;
  instance?: string;
}

/** Loaded only to serve: `--help` needs neither node:sqlite nor zod. */
const loadServer = () => import("../server/serve.js");

/**
 * The command `apichat responder`: the responder as a server, until SIGTERM or SIGINT. Its subcommands list what it keeps
 * and forward dead letters again, whether it runs or not.
 */
export function responderCommand(): Command {
  return (
    new Command("responder")
      .description(
        "answer handshakes, take deliveries and forward them, until SIGTERM; SIGHUP reads --config again",
      )
      .enablePositionalOptions()
      .option("--config <file>", "configuration of the responder (JSON)")
      .option(
        "--instance <id>",
        "name of this start; the log then goes to responder.log in the data folder",
        parseInstance,
      )
      .addHelpText("after", HELP)
      .addCommand(deliveriesCommand())
      .addCommand(deadLettersCommand())
      .addCommand(replayCommand())
      .addCommand(retryCommand())
      // Whatever a failure leaves open does not keep the process alive.
      .action(async (options) => process.exit(await serve(options).then(() => EXIT.done, reportError)))
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

Its fields; paths of files are relative to the folder of the configuration:
  host                  Where it listens. Default "127.0.0.1", this machine only; "0.0.0.0" for every address.
  port                  Required. 0 to 65535; 0 picks a free one.
  dataDir               Required. Folder of the spool and the log; made if it is missing.
  workspaces            Required. At least one, by name: 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-".
    verificationKeys    One key or a list; all are accepted, so that a key can be rotated. A key is a text,
                        { "file": path } or { "env": name }. Required without derivedFrom.
    subject             Whose keys are derived. Default: the workspace's name.
    path                Where it takes handshakes and deliveries (POST). Default "/" and the workspace's name.
    forwardTo           URL of your program. Default: none, deliveries are kept; see apichat responder deliveries.
  derivedFrom           Derives the keys of all workspaces from one seed, as VerificationKey does: a text, { "file": path } or
                        { "env": name }, or a list. A workspace may list further keys.
  rotations             With derivedFrom: the names of its rotations, such as ["2026-12", "2026-09"].
  forwardWithinSeconds  How long a delivery is tried before it becomes a dead letter. Default 86400, a day.
  bodyLimitBytes        How large a request's body may be. Default 1048576, 1 MiB.
  healthPath            Answers GET with 200, or 503 while deliveries cannot be stored. Default "/healthz".

Examples:
  $ apichat responder --config /etc/apichat/responder.json
  $ apichat responder deliveries --config /etc/apichat/responder.json --json
  $ apichat responder retry --config /etc/apichat/responder.json
  $ apichat responder replay --all --data-dir /var/lib/apichat

Exit code: 0 stopped, 1 could not start, 2 usage or configuration error.`;

/** The headers of the control interface hold it. */
function parseInstance(text: string): string {
  if (/^[\w.-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-".');
}

async function serve({ config, instance }: ResponderOptions): Promise<void> {
  if (config === undefined) throw new UsageError("give the configuration with --config <file>; see --help");
  const { serveUntilSignal } = await loadServer();
  await serveUntilSignal({ configFile: config, instance });
}
