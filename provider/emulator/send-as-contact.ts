import { presentFlowKey } from "../client/options.js";
import { ApiChatError } from "../errors/index.js";
import { LONGEST_TIMER_MS } from "../lib/abort.js";
import { post } from "./service/outgoing.js";
import type { EmulatorState, WorkspaceState } from "./state.js";

/** What `bot_url` answered. */
export interface SentMessage {
  status: number;
  /** The value, if it is JSON, or else the text; undefined if it is empty. */
  body: unknown;
}

/**
 * Posts a message to the workspace's bot with its flow API key, as an external system would (section 4.2): a refusal is an
 * answer. Throws `unavailable` if the connection ends without one, as a fault can make it.
 */
export async function sendAsContact(
  { origins, outgoing, settings }: EmulatorState,
  { name, botCode, flowApiKey }: WorkspaceState,
  message: unknown,
): Promise<SentMessage> {
  const { flowKey } = settings;
  const { headers = {}, fields = {} } = flowKey === "none" ? {} : presentFlowKey(flowApiKey, flowKey);
  const isObject = typeof message === "object" && message !== null && !Array.isArray(message);
  const answer = await post(outgoing, {
    // Always to this emulator: a `bot_url` that was moved elsewhere must not get the key.
    url: `${origins.bot}/api/apichat/${botCode}`,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(isObject ? { ...message, ...fields } : message),
    timeoutMs: LONGEST_TIMER_MS,
  });
  if ("status" in answer) return { status: answer.status, body: parseOrKeep(answer.body) };
  const text = `message: the bot of workspace "${name}" gave no answer`;
  throw new ApiChatError("unavailable", text, { operation: "message" });
}

function parseOrKeep(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
