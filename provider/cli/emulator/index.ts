import { Command, InvalidArgumentError, Option } from "commander";
import { addOpenPointOptions, hideOpenPoints } from "./open-points.js";
import type { EmulatorCliOptions } from "./settings.js";
import { parsePort } from "../option-values.js";
import { FLOW_NAMES } from "../../emulator/names.js";
import { untilStopped } from "../run-command.js";

export function emulatorCommand(): Command {
  const command = new Command("emulator")
    .description("simulate the whole service on this machine until Ctrl-C; on its page, you play the contact")
    .option(
      "--port <port>",
      "port of the registration interface, control API and page; 0 picks a free one",
      parsePort,
      4000,
    )
    .option(
      "--bot-port <port>",
      "port of the bot host, to which messages are sent (default: the port after --port)",
      parsePort,
    )
    .option("--host <host>", "address to listen on; any address except loopback needs a token", "127.0.0.1")
    .option("--token-file <file>", "file with the token that the control API and the page require")
    .option("--workspace <name...>", 'add workspaces (default: "acme" if the seed has none)')
    .option("--seed <file>", "YAML or JSON file with the initial workspaces, flow, faults and open points")
    .addOption(new Option("--flow <name>", "built-in flow that replies (default: echo)").choices(FLOW_NAMES))
    .option("--fault <json>", "inject a fault; repeatable", collectFault)
    .option("--quiet", "do not print a line for each request and delivery")
    .option("--json", "print one JSON object per line")
    .addHelpText("after", HELP)
    .action(run);
  return hideOpenPoints(addOpenPointOptions(command));
}

const HELP = `
For the options that settle open points of the specification, run apichat help open-points.
The token is read from --token-file, else from APICHAT_EMULATOR_TOKEN.

A seed file can set workspaces, flow, faults and every open point; flags override it.
docs/reference/emulator.md has an example.

Examples:
  $ apichat emulator
  $ apichat emulator --workspace acme --workspace globex --flow menu
  $ apichat emulator --seed workspaces.yaml --failed-handshake clears
  $ apichat emulator --fault '{"operation":"set-webhook","times":2,"fault":{"status":503}}'

Exit code: 0 stopped (Ctrl-C or SIGTERM), 1 could not start, 2 usage error or invalid file.`;

/** Only checks that the text is JSON: the emulator checks the rest. */
function collectFault(text: string, previous: readonly unknown[] = []): unknown[] {
  try {
    return [...previous, JSON.parse(text)];
  } catch {
    // JSON.parse's message shows only a position, which does not help if a shell has removed the quotes.
    throw new InvalidArgumentError(
      `It must be JSON; for example '{"operation":"set-webhook","fault":{"status":503}}'.`,
    );
  }
}

async function run(options: EmulatorCliOptions): Promise<void> {
  // Loaded here, so that `--help` does not load the emulator.
  const { startFromOptions } = await import("./run.js");
  const stopped = untilStopped();
  const emulator = await startFromOptions(options);
  await stopped;
  await emulator.close();
}
