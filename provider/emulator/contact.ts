import { presentFlowKey } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { MAX_TIMER_MS } from "../lib/abort.js";
import { isMap, jsonOrText } from "../lib/values.js";
import { post } from "./service/outgoing.js";
import type { EmulatorState, WorkspaceState } from "./state.js";

/**
 * The response of `bot_url` to a contact's message. `POST /_emulator/workspaces/{name}/messages` returns it as JSON,
 * with the same HTTP status if that is 400 or above.
 */
export interface SentMessage {
  /** The HTTP status. */
  status: number;
  /** The parsed JSON, or the text if it is not JSON; undefined if the body is empty. */
  body: unknown;
}

/** Posts a message to a workspace's bot, with its flow API key. Throws `unavailable` if there is no response. */
export async function sendFromContact(
  { origins, outgoing, settings }: EmulatorState,
  { name, botCode, flowApiKey }: WorkspaceState,
  message: unknown,
): Promise<SentMessage> {
  const { flowKey } = settings;
  const { headers = {}, fields = {} } = flowKey === "none" ? {} : presentFlowKey(flowApiKey, flowKey);
  const response = await post(outgoing, {
    // Always to this emulator: a `bot_url` elsewhere must not receive the key.
    url: `${origins.bot}/api/apichat/${botCode}`,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(isMap(message) ? { ...message, ...fields } : message),
    timeoutMs: MAX_TIMER_MS,
  });
  if ("status" in response) return { status: response.status, body: jsonOrText(response.body) };
  const text = `message: the bot of workspace "${name}" did not respond`;
  throw new ApiChatError("unavailable", text, { operation: "message" });
}
