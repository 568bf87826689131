import { Command } from "commander";
import { addCredentialOptions, type CredentialOptions } from "./credential-options.js";
import { openCredentials } from "./credentials.js";
import { parseUrl } from "./option-values.js";
import { ENDINGS, EXIT, print, printJson } from "./output.js";
import { runToExit, type Interruption } from "./run-command.js";

interface InitOptions extends CredentialOptions {
  webhookUrl?: string;
  json?: boolean;
}

/** Loaded only to write: `--help` needs none of it. */
const loadInit = () => import("./init/run.js");

/** The command `apichat init`: writes a Pulumi program, and prints what to do with it. It ends the process. */
export function initCommand(): Command {
  const command = new Command("init")
    .description("write a Pulumi program that registers a webhook, and print what to do next")
    .argument("[folder]", "where; it is made if need be", ".")
    .option("--webhook-url <url>", "your endpoint, which answers the handshake", parseUrl)
    .option("--json", 'print { "folder", "files", "next": [commands] }');
  return addCredentialOptions(command, ["baseUrl"])
    .addHelpText("after", HELP)
    .action((folder: string, options: InitOptions) => runToExit((run) => init(folder, options, run)));
}

const HELP = `
It writes package.json, tsconfig.json, Pulumi.yaml, index.ts and .gitignore. If one of them is there already, it writes
none. Without a base URL the program is for the emulator on this machine, without --webhook-url it starts a responder of its
own, which only a service on this machine reaches. Nothing is asked, sent or installed.

Examples:
  $ apichat init my-webhooks
  $ apichat init . --base-url https://platform.example/acme/apichat --webhook-url https://chat.example/webhooks/apichat
${ENDINGS}`;

async function init(folder: string, options: InitOptions, { interrupt }: Interruption): Promise<number> {
  const { writeProgram, formatNext } = await loadInit();
  const baseUrl = await openCredentials(options, interrupt).findAddress("baseUrl");
  const written = await writeProgram({ folder, baseUrl, webhookUrl: options.webhookUrl });
  if (options.json) printJson(written);
  else print(formatNext(written));
  return EXIT.done;
}
