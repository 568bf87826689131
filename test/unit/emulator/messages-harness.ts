import type { EmulatorOptions, Workspace } from "../../../provider/emulator/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import { startAcme, type Answer } from "./harness.js";

/** One right body of each of the six operations (section 4.2). */
export const operations = {
  "send text message": samples.InboundTextMessage,
  "send button payload": samples.InboundButtonMessage,
  "send image": samples.InboundImageMessage,
  "send audio": samples.InboundAudioMessage,
  "send video": samples.InboundVideoMessage,
  "send file": samples.InboundFileMessage,
} as const;

export const text = samples.InboundTextMessage;
export const image = samples.InboundImageMessage;

/** An emulator with a workspace whose flow says nothing. */
export function startSilent(options: EmulatorOptions = {}): ReturnType<typeof startAcme> {
  return startAcme({ flow: () => [], ...options });
}

/** What a request is sent with in place of what is right. */
export interface Sent {
  body?: string;
  headers?: Record<string, string>;
  method?: string;
  url?: string;
}

/** POSTs to `bot_url` with the flow API key as a bearer token. */
export async function sendTo(workspace: Workspace, message: unknown, sent: Sent = {}): Promise<Answer> {
  const method = sent.method ?? "POST";
  const response = await fetch(sent.url ?? workspace.botUrl, {
    method,
    headers: sent.headers ?? { authorization: `Bearer ${workspace.flowApiKey}` },
    ...(method !== "GET" && method !== "HEAD" && { body: sent.body ?? JSON.stringify(message) }),
  });
  const answered = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text: answered,
    json: () => JSON.parse(answered) as unknown,
  };
}

/** All messages of a workspace's contacts, in their order. */
export const received = ({ conversations }: Workspace): unknown[] =>
  conversations.flatMap(({ messages }) =>
    messages.filter(({ from }) => from === "contact").map(({ body }) => body),
  );
