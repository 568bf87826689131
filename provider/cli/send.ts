import { Command, Option } from "commander";
import type { MessageClient, MessageReceipt, FlowApiKeyAs } from "../client/index.js";
import { formatUrl } from "../lib/url.js";
import { addCredentialOptions, CREDENTIALS_HELP, type CredentialOptions } from "./credentials.js";
import { ENDINGS, EXIT, printResult, readStdin } from "./output.js";
import { acceptHeaderWay, HEADER_WAY, parseConversationId, requestSecondsOption } from "./option-values.js";
import { toPlainText } from "../lib/plain-text.js";
import { noteIfSlow, runToExit } from "./run-command.js";

interface SendCommandOptions extends CredentialOptions {
  senderId: string;
  senderName: string;
  conversationId: number;
  flowApiKeyAs: FlowApiKeyAs;
  requestSeconds: number;
  json?: boolean;
}

type SenderAddress = Pick<Parameters<MessageClient["sendImage"]>[0], "sender" | "conversationId">;

export const sendCommand = (): Command =>
  new Command("send")
    .description("send a message to a bot as a contact")
    .addCommand(textCommand())
    .addCommand(buttonCommand())
    .addCommand(mediaCommand("image"))
    .addCommand(mediaCommand("audio"))
    .addCommand(mediaCommand("video"))
    .addCommand(mediaCommand("file"))
    .addHelpText("after", SEND_HELP);

const textCommand = (): Command =>
  messageCommand("text", "send a text")
    .argument("<text>", 'the text; "-" reads it from stdin')
    .addHelpText("after", helpWith('apichat send text "Good morning"', "date | apichat send text -"))
    .action((text: string, options: SendCommandOptions) =>
      send(options, async (client, address) =>
        client.sendText({ ...address, text: text === "-" ? await readStdin() : text }),
      ),
    );

const buttonCommand = (): Command =>
  messageCommand("button", "send a button press")
    .argument("<title>", "title of the button")
    .requiredOption("--payload <payload>", "payload of the button, as in the delivery")
    .addHelpText("after", helpWith('apichat send button "Yes" --payload yes-1'))
    .action((title: string, options: SendCommandOptions & { payload: string }) =>
      send(options, (client, address) => client.sendButton({ ...address, title, payload: options.payload })),
    );

const mediaCommand = (kind: "image" | "audio" | "video" | "file"): Command =>
  messageCommand(kind, `send ${kind === "file" ? "a file" : kind}, given as a URL`)
    .argument("<url>", "absolute http or https URL of the media")
    .addHelpText("after", helpWith(`apichat send ${kind} https://files.example/1`))
    .action((url: string, options: SendCommandOptions) =>
      send(options, (client, address) => client.send({ ...address, kind, url })),
    );

const messageCommand = (name: string, description: string): Command =>
  addCredentialOptions(new Command(name), ["botUrl", "flowApiKey"])
    .description(description)
    .requiredOption("--sender-id <id>", "the contact's id in your system")
    .requiredOption("--sender-name <name>", "the contact's name")
    .requiredOption(
      "--conversation-id <number>",
      "number of the conversation in your system",
      parseConversationId,
    )
    .addOption(
      acceptHeaderWay(
        new Option("--flow-api-key-as <method>", "how the key is presented")
          .choices(["bearer", "raw", "body", HEADER_WAY])
          .default("bearer"),
      ),
    )
    .addOption(requestSecondsOption("how long the message may take, including retries"))
    .option("--json", "print { httpStatus, body, attempts }");

const CONTACT = "--sender-id 42 --sender-name Ana --conversation-id 7";

const helpWith = (...examples: string[]): string => `
A message is retried only if no connection was made, or after HTTP 429 or 503, which are assumed to mean that
it was not accepted. The specification does not say how the flow's API key is presented.
--flow-api-key-as:
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
  $ apichat send image https://files.example/1.png ${CONTACT}
${ENDINGS}`;

const send = (
  options: SendCommandOptions,
  call: (client: MessageClient, address: SenderAddress) => Promise<MessageReceipt>,
): Promise<void> =>
  runToExit(options, async ({ signal, credentials }) => {
    const botUrl = credentials.address("botUrl");
    const flowApiKey = await credentials.secret("flowApiKey");
    const { senderId: id, senderName: name, conversationId, flowApiKeyAs, requestSeconds } = options;
    // Loaded here, because `--help` needs no HTTP client.
    const { MessageClient } = await import("../client/index.js");
    const client = new MessageClient({ botUrl, flowApiKey, flowApiKeyAs, requestSeconds, signal });
    const receipt = await noteIfSlow(
      () => `waiting for ${formatUrl(botUrl)} to accept the message`,
      () => call(client, { sender: { id, name }, conversationId }),
    );
    printResult(options, receipt, () => formatReceipt(receipt));
    return EXIT.done;
  });

function formatReceipt({ httpStatus, body, attempts }: MessageReceipt): string {
  const after = attempts === 1 ? "" : ` after ${attempts} attempts`;
  const response = body === undefined ? "" : `  ${toPlainText(JSON.stringify(body))}`;
  return `sent${after}  HTTP ${httpStatus}${response}\n`;
}
