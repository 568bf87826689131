import { Command, InvalidArgumentError } from "commander";
import type { FlowApiKeyAs } from "../client/options.js";
import { addCredentialOptions, CREDENTIALS_HELP } from "./credential-options.js";
import { ENDINGS } from "./output.js";
import { parseSeconds } from "./option-values.js";
import type { ButtonOptions, SendOptions } from "./send-actions.js";
import { runToExit, type Interruption } from "./run-command.js";

const DEFAULT_REQUEST_SECONDS = 30;
const MEDIA = ["image", "audio", "video", "file"] as const;

/** The command `apichat send`: sends one message as a contact (section 4.2). */
export function sendCommand(): Command {
  const command = new Command("send")
    .description("send a message to a bot as a contact")
    .addCommand(textCommand())
    .addCommand(buttonCommand());
  for (const kind of MEDIA) command.addCommand(mediaCommand(kind));
  return command.addHelpText("after", SEND_HELP);
}

const textCommand = (): Command =>
  messageCommand("text", "send a text")
    .argument("<text>", 'the text; "-" reads it from stdin')
    .addHelpText("after", helpWith('apichat send text "Good morning"', "date | apichat send text -"))
    .action((text: string, options: SendOptions) =>
      runSending((actions, run) => actions.sendText(text, options, run)),
    );

const buttonCommand = (): Command =>
  messageCommand("button", "send the press of a button")
    .argument("<title>", "title of the button")
    .requiredOption("--payload <payload>", "payload of the button, as the delivery gave it")
    .addHelpText("after", helpWith('apichat send button "Yes" --payload yes-1'))
    .action((title: string, options: ButtonOptions) =>
      runSending((actions, run) => actions.sendButton(title, options, run)),
    );

const mediaCommand = (kind: (typeof MEDIA)[number]): Command =>
  messageCommand(kind, `send ${kind === "file" ? "a file" : `${kind} by its URL`}`)
    .argument("<url>", "absolute http or https URL of the media")
    .addHelpText("after", helpWith(`apichat send ${kind} https://files.example/1`))
    .action((url: string, options: SendOptions) =>
      runSending((actions, run) => actions.sendMedia(kind, url, { options, run })),
    );

/** Loaded only to send: `--help` needs no HTTP client. */
const loadActions = () => import("./send-actions.js");

const runSending = (
  send: (actions: Awaited<ReturnType<typeof loadActions>>, run: Interruption) => Promise<number>,
): Promise<void> => runToExit(async (run) => send(await loadActions(), run));

const messageCommand = (name: string, description: string): Command =>
  addCredentialOptions(new Command(name), ["botUrl", "flowApiKey"])
    .description(description)
    .requiredOption("--sender-id <id>", "the contact's id in your system")
    .requiredOption("--sender-name <name>", "the contact's name")
    .requiredOption("--conversation-id <number>", "the conversation, in your numbers", parseConversationId)
    .option(
      "--flow-api-key-as <way>",
      "how the key is presented: bearer, raw, body, or header:NAME",
      parseFlowApiKeyAs,
      "bearer",
    )
    .option(
      "--request-seconds <seconds>",
      "how long the message may take with its retries",
      parseSeconds,
      DEFAULT_REQUEST_SECONDS,
    )
    .option("--json", "print { httpStatus, body, attempts }");

function parseFlowApiKeyAs(text: string): FlowApiKeyAs {
  if (text === "bearer" || text === "raw" || text === "body") return text;
  if (text.startsWith("header:")) return { header: text.slice("header:".length) };
  throw new InvalidArgumentError("It must be bearer, raw, body, or header:NAME.");
}

function parseConversationId(text: string): number {
  const id = Number(text);
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(id)) return id;
  throw new InvalidArgumentError("It must be a whole number, at most 9007199254740991.");
}

const CONTACT = "--sender-id 42 --sender-name Ana --conversation-id 7";

const helpWith = (...examples: string[]): string => `
A message is sent again only where the service cannot have taken it. How the flow's API key is presented is not in the
specification. --flow-api-key-as:
  bearer       Authorization: Bearer <key>
  raw          Authorization: <key>
  body         the field ChaveApi of the message
  header:NAME  <key> alone in a header of this name
${CREDENTIALS_HELP}
Examples:
${examples.map((example) => `  $ ${example} ${CONTACT}`).join("\n")}
${ENDINGS}`;

const SEND_HELP = `
Examples:
  $ apichat send text "Good morning" ${CONTACT}
  $ apichat send image https://files.example/1.png ${CONTACT} --credentials acme.yaml
${ENDINGS}`;
