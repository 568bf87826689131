import { text as readText } from "node:stream/consumers";
import { MessageClient, type MessageReceipt } from "../client/index.js";
import { printUrl } from "../lib/url.js";
import { openCredentials } from "./credentials.js";
import { EXIT, print, printJson } from "./output.js";
import { toPlainText } from "./plain-text.js";
import type { Interruption } from "./run-command.js";
import { noteIfSlow } from "./slow.js";
import type { FlowApiKeyAs } from "../client/options.js";
import type { CredentialOptions } from "./credential-options.js";

/** What all kinds of messages have in common. */
export interface SendOptions extends CredentialOptions {
  senderId: string;
  senderName: string;
  conversationId: number;
  flowApiKeyAs: FlowApiKeyAs;
  /** In seconds. */
  requestSeconds: number;
  json?: boolean;
}

export interface ButtonOptions extends SendOptions {
  payload: string;
}

/** Sends a text; "-" is that of stdin, less the line break at its end. Gives the exit code, as the others here. */
export async function sendText(text: string, options: SendOptions, run: Interruption): Promise<number> {
  const whole = text === "-" ? (await readText(process.stdin)).replace(/\r?\n$/, "") : text;
  return send(options, run, (client) => client.sendText({ ...addressOf(options), text: whole }));
}

/** Sends the press of a button. */
export const sendButton = (title: string, options: ButtonOptions, run: Interruption): Promise<number> =>
  send(options, run, (client) =>
    client.sendButton({ ...addressOf(options), title, payload: options.payload }),
  );

/** Sends media by their URL. */
export const sendMedia = (
  kind: "image" | "audio" | "video" | "file",
  url: string,
  { options, run }: { options: SendOptions; run: Interruption },
): Promise<number> =>
  send(options, run, (client) => {
    const message = { ...addressOf(options), url };
    if (kind === "image") return client.sendImage(message);
    if (kind === "audio") return client.sendAudio(message);
    return kind === "video" ? client.sendVideo(message) : client.sendFile(message);
  });

const addressOf = ({ senderId, senderName, conversationId }: SendOptions) => ({
  sender: { id: senderId, name: senderName },
  conversationId,
});

async function send(
  options: SendOptions,
  { signal, interrupt }: Interruption,
  call: (client: MessageClient) => Promise<MessageReceipt>,
): Promise<number> {
  const credentials = openCredentials(options, interrupt);
  const botUrl = await credentials.address("botUrl");
  const flowApiKey = await credentials.secret("flowApiKey");
  const { flowApiKeyAs, requestSeconds, json } = options;
  const client = new MessageClient({ botUrl, flowApiKey, flowApiKeyAs, requestSeconds, signal });
  const receipt = await noteIfSlow(
    () => `waiting for ${printUrl(botUrl)} to take the message`,
    () => call(client),
  );
  if (json) printJson(receipt);
  else print(formatReceipt(receipt));
  return EXIT.done;
}

function formatReceipt({ httpStatus, body, attempts }: MessageReceipt): string {
  const tries = attempts === 1 ? "" : ` after ${attempts} attempts`;
  const answer = body === undefined ? "" : `  ${toPlainText(JSON.stringify(body))}`;
  return `sent${tries}  HTTP ${httpStatus}${answer}\n`;
}
