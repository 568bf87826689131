import { Argument, Command } from "commander";
import { problemOfUrl } from "../lib/url.js";
import { addCredentialOptions, CREDENTIALS_HELP, type CredentialOptions } from "./credentials.js";
import { parseConversationId, parseUrl, requestSecondsOption } from "./option-values.js";
import { ENDINGS, readStdin } from "./output.js";
import { runToExit, type CommandRun } from "./run-command.js";
import { UsageError } from "./usage-error.js";

const KINDS = ["text", "image", "audio", "video", "file", "button_template", "generic_template"] as const;
type Kind = (typeof KINDS)[number];
const MEDIA = new Set<Kind>(["image", "audio", "video", "file"]);

interface TriggerOptions extends CredentialOptions {
  senderId: string;
  conversationId: number;
  requestSeconds: number;
  json?: boolean;
}

export const triggerCommand = (): Command =>
  addCredentialOptions(new Command("trigger"), ["verificationKey"])
    .description("send one signed delivery to an endpoint, as the service would")
    .argument("<url>", "the webhook URL", parseUrl)
    .addArgument(new Argument("[kind]", "kind of message").choices(KINDS).default("text"))
    .argument("[content]", 'the text, or the URL of the media; "-" reads it from stdin (default: a sample)')
    .option("--sender-id <id>", "the contact's id in your system", "7")
    .option("--conversation-id <number>", "number of the conversation in your system", parseConversationId, 1)
    .addOption(requestSecondsOption("how long the response may take"))
    .option("--json", "print { httpStatus, ms }")
    .addHelpText("after", HELP)
    .action((to: string, kind: Kind, content: string | undefined, options: TriggerOptions) =>
      runToExit(options, (run) => trigger({ to, kind, content, ...options }, run)),
    );

const HELP = `
The delivery is sent once. Any 2xx is success; after anything else, the exit code is 1.
${CREDENTIALS_HELP}
Examples:
  $ apichat trigger http://127.0.0.1:8080/webhooks/apichat text "It is on its way"
  $ apichat trigger http://127.0.0.1:8080/ button_template --key-file acme.key --json
${ENDINGS}`;

async function trigger(
  options: TriggerOptions & { to: string; kind: Kind; content: string | undefined },
  { signal, credentials }: CommandRun,
): Promise<number> {
  const { to: url, kind, senderId, conversationId } = options;
  const verificationKey = await credentials.secret("verificationKey");
  const content = options.content === "-" ? await readStdin() : options.content;
  const field = MEDIA.has(kind) ? "url" : "text";
  const problem = content && field === "url" ? problemOfUrl(content, "https://files.example/1") : undefined;
  if (problem !== undefined) throw new UsageError(`content: ${problem}`);
  const given = content === undefined ? {} : { [field]: content };
  const message = { sender_id: senderId, conv_id: conversationId, ...given };
  // Loaded here, because `--help` needs no HTTP client.
  const { createDelivery } = await import("../responder/index.js");
  const { deliverOnce } = await import("./deliver.js");
  const delivery = await createDelivery(kind, { url, verificationKey, message });
  return deliverOnce(options, delivery.headers, new Uint8Array(await delivery.arrayBuffer()), signal);
}
